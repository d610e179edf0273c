/** Figures as people read them. Own rules, no locale: the same verdict gives the same bytes. */

const rounded = (value: number, digits: number): string => {
  const text = String(Number(value.toPrecision(digits)));
  const [whole, rest] = text.split(".") as [string, string?];
  return text.includes("e") ? text : whole.replace(/\B(?=(\d{3})+$)/g, " ") + (rest === undefined ? "" : `.${rest}`);
};

export const unknown = "not measured";

/** Three significant digits; whole numbers above a thousand keep theirs to the unit of three digits. */
export const figure = (value: number | null, digits = 3): string => (value === null ? unknown : rounded(value, digits));

export const milliseconds = (value: number | null): string => {
  if (value === null) return unknown;
  if (value >= 10_000) return `${rounded(value / 1000, 3)} s`;
  return value < 0.1 && value > 0 ? `${rounded(value * 1000, 3)} µs` : `${rounded(value, 3)} ms`;
};

export const rate = (value: number | null): string => (value === null ? unknown : `${rounded(value, 3)}/s`);
export const usd = (value: number | null): string => (value === null ? "unknown" : `$${rounded(value, 3)}`);
export const percent = (ratio: number | null, digits = 3): string => (ratio === null ? unknown : `${rounded(100 * ratio, digits)} %`);
/** Metrics that are shares of items or characters. */
const shares: ReadonlySet<string> = new Set(["top1", "exact", "f1", "recall", "cer"]);
/** A value of a metric in its own form, differences with fewer digits. */
export const metricValue = (metric: string, value: number, digits = 4): string =>
  shares.has(metric) ? percent(value, digits) : rounded(value, digits);

export const bytes = (value: number | null): string => {
  if (value === null) return unknown;
  const [unit, scale] = value >= 1e9 ? ["GB", 1e9] : value >= 1e6 ? ["MB", 1e6] : value >= 1e3 ? ["kB", 1e3] : ["B", 1];
  return `${rounded(value / (scale as number), 3)} ${unit as string}`;
};

export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
}

/** A figure with its interval: `4.1 ms (3.9–4.4)`. An open end is said. */
export function interval(estimate: Estimate | null, show: (value: number) => string): string {
  if (estimate === null) return unknown;
  const { value, low, high } = estimate;
  if (low === null && high === null) return show(value);
  if (low === high && low !== null) return show(value);
  return `${show(value)} (${low === null ? "?" : show(low)} – ${high === null ? "?" : show(high)})`;
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
/** Text for HTML, attribute values included. */
export const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character]!);
