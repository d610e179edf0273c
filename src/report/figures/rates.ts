/** Latency by the rate that was asked: one mark a visit, targets as lines across. */
import { escape, figure } from "../format.ts";
import { axisX, axisY, colours, linear, logarithmic, mark, picture, width } from "./plot.ts";

export interface RateLine {
  name: string;
  series: number;
  points: readonly { ratePerSecond: number; ms: number }[];
}

/** @param limits milliseconds, each with its name */
export function ratesFigure(lines: readonly RateLine[], limits: readonly { ms: number; text: string }[]): string {
  const points = lines.flatMap((line) => line.points);
  if (points.length === 0) return "";
  const [left, right, top, bottom] = [64, width - 20, 34, 290];
  const rates = points.map(({ ratePerSecond }) => ratePerSecond);
  const times = [...points.map(({ ms }) => ms), ...limits.map(({ ms }) => ms)].filter((ms) => ms > 0);
  const wide = Math.max(...rates) > 20 * Math.min(...rates);
  const x = wide ? logarithmic([Math.min(...rates), Math.max(...rates)], [left, right]) : linear([0, Math.max(...rates)], [left, right]);
  const y = logarithmic([Math.min(...times), Math.max(...times)], [bottom, top]);
  const drawn = lines.map(({ series, points: own }) => {
    const sorted = own.toSorted((a, b) => a.ratePerSecond - b.ratePerSecond);
    return `<polyline class="curve s${series % colours} d${series % 4}" points="${sorted.map(({ ratePerSecond, ms }) => `${x(ratePerSecond)},${y(ms)}`).join(" ")}"/>${sorted.map(({ ratePerSecond, ms }) => mark(series, x(ratePerSecond), y(ms))).join("")}`;
  });
  const across = limits.map(
    ({ ms, text }) =>
      `<line class="limit" x1="${left}" x2="${right}" y1="${y(ms)}" y2="${y(ms)}"/><text class="limit-text" x="${left + 6}" y="${y(ms) - 5}">${escape(text)}</text>`,
  );
  const legend = lines.map(
    ({ name, series }, k) =>
      `<line class="curve s${series % colours} d${series % 4}" x1="${left + k * 150}" x2="${left + 34 + k * 150}" y1="${bottom + 56}" y2="${bottom + 56}"/>${mark(series, left + 17 + k * 150, bottom + 56)}<text class="name" x="${left + 42 + k * 150}" y="${bottom + 60}">${escape(name)}</text>`,
  );
  return picture(
    "rates",
    bottom + 72,
    "Latency by rate",
    "Percentiles of the latencies at each rate; the numbers are in the table below.",
    `${axisY(y, left, right, "milliseconds", figure)}${axisX(x, bottom, top, "requests per second")}${across.join("")}${drawn.join("")}${legend.join("")}`,
  );
}
