/** Shared parts of the pictures: scales, axes, and the frame with its title and description. */
import { escape, figure } from "../format.ts";

export const width = 720;
export const colours = 6;

export interface Scale {
  (value: number): number;
  ticks: number[];
}

const niceStep = (span: number, count: number): number => {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw)!;
};

/** From a domain that is widened to round numbers, to pixels. */
export function linear([low, high]: readonly [number, number], [from, to]: readonly [number, number], count = 6): Scale {
  const step = niceStep(high > low ? high - low : Math.max(1e-9, Math.abs(high) || 1), count);
  const start = Math.floor(low / step) * step;
  const end = Math.max(start + step, Math.ceil(high / step) * step);
  const scale = (value: number): number => Number((from + ((value - start) / (end - start)) * (to - from)).toFixed(1));
  const ticks = Array.from({ length: Math.round((end - start) / step) + 1 }, (_, i) => Number((start + i * step).toPrecision(12)));
  return Object.assign(scale, { ticks });
}

/** A logarithmic scale with ticks at 1, 2 and 5. */
export function logarithmic([low, high]: readonly [number, number], [from, to]: readonly [number, number]): Scale {
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)) + 1; power++)
    for (const factor of [1, 2, 5]) all.push(Number((factor * 10 ** power).toPrecision(3)));
  const start = all.filter((tick) => tick <= low).at(-1)!;
  const end = all.find((tick) => tick >= high && tick > start)!;
  const scale = (value: number): number =>
    Number((from + (Math.log(Math.max(value, start) / start) / Math.log(end / start)) * (to - from)).toFixed(1));
  return Object.assign(scale, { ticks: all.filter((tick) => tick >= start && tick <= end) });
}

/** The horizontal axis at `y`, with grid lines up to `top`. */
export function axisX(scale: Scale, y: number, top: number, label: string, show: (value: number) => string = figure): string {
  const lines = scale.ticks.map(
    (tick) =>
      `<line class="grid" x1="${scale(tick)}" x2="${scale(tick)}" y1="${top}" y2="${y}"/><text class="tick" text-anchor="middle" x="${scale(tick)}" y="${y + 18}">${escape(show(tick))}</text>`,
  );
  return `${lines.join("")}<text class="axis" text-anchor="end" x="${scale(scale.ticks.at(-1)!)}" y="${y + 38}">${escape(label)}</text>`;
}

export function axisY(scale: Scale, x: number, right: number, label: string, show: (value: number) => string = figure): string {
  const lines = scale.ticks.map(
    (tick) =>
      `<line class="grid" x1="${x}" x2="${right}" y1="${scale(tick)}" y2="${scale(tick)}"/><text class="tick" text-anchor="end" x="${x - 8}" y="${scale(tick) + 4}">${escape(show(tick))}</text>`,
  );
  return `${lines.join("")}<text class="axis" x="4" y="14">${escape(label)}</text>`;
}

/** The frame of a picture. What it shows is in a table beside it too, so the description is one sentence. */
export function picture(id: string, height: number, title: string, description: string, body: string): string {
  return `<svg role="img" aria-labelledby="${id}-t ${id}-d" viewBox="0 0 ${width} ${height}" class="plot"><title id="${id}-t">${escape(title)}</title><desc id="${id}-d">${escape(description)}</desc>${body}</svg>`;
}

/** A mark of its own for each series: shape and colour both tell it apart. */
export function mark(series: number, x: number, y: number): string {
  const c = `class="mark s${series % colours}"`;
  switch (series % 4) {
    case 0:
      return `<circle ${c} cx="${x}" cy="${y}" r="5.5"/>`;
    case 1:
      return `<rect ${c} x="${x - 5}" y="${y - 5}" width="10" height="10"/>`;
    case 2:
      return `<path ${c} d="M${x} ${y - 6.5}L${x + 6} ${y + 5}H${x - 6}Z"/>`;
    default:
      return `<path ${c} d="M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}Z"/>`;
  }
}

export const cut = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

/** Rows of "name, interval as a line with a mark": capacities, differences. */
export function intervalRows(
  id: string,
  title: string,
  description: string,
  rows: readonly { name: string; value: number; low: number | null; high: number | null; series: number }[],
  options: { label: string; show?: (value: number) => string; log?: boolean; lines?: readonly { at: number; text: string }[] },
): string {
  const { label, show = figure, log = false, lines = [] } = options;
  const [left, right, top, rowHeight] = [230, width - 30, 26, 34];
  const bottom = top + rows.length * rowHeight + 6;
  const all = [...rows.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]), ...lines.map(({ at }) => at)];
  const domain: [number, number] = [Math.min(...all), Math.max(...all)];
  const x = log && domain[0] > 0 ? logarithmic(domain, [left, right]) : linear(domain, [left, right]);
  const drawn = rows.map(({ name, value, low, high, series }, i) => {
    const y = top + i * rowHeight + rowHeight / 2;
    const open = (end: number | null, at: number, way: number): string =>
      end === null ? `<path class="open s${series % colours}" d="M${at} ${y - 5}l${6 * way} 5l${-6 * way} 5"/>` : "";
    const [from, to] = [x(low ?? value), high === null ? right : x(high)];
    return `<text class="name" x="0" y="${y + 4}">${escape(cut(name, 34))}</text><line class="whisker s${series % colours}" x1="${from}" x2="${to}" y1="${y}" y2="${y}"/>${open(high, right - 6, 1)}${mark(series, x(value), y)}`;
  });
  const limits = lines.map(
    ({ at, text }) =>
      `<line class="limit" x1="${x(at)}" x2="${x(at)}" y1="${top - 8}" y2="${bottom}"/><text class="limit-text" text-anchor="middle" x="${x(at)}" y="${top - 12}">${escape(text)}</text>`,
  );
  return picture(id, bottom + 46, title, description, `${axisX(x, bottom, top, label, show)}${limits.join("")}${drawn.join("")}`);
}
