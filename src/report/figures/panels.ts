/** A run over its time: panels one below another that share the axis of seconds; host stalls as bands through all. */
import { escape, figure } from "../format.ts";
import { axisX, axisY, colours, linear, logarithmic, picture, width } from "./plot.ts";

export interface Panel {
  label: string;
  /** Whether the axis is logarithmic. */
  log?: boolean;
  /** A value for each slice; null = none. */
  lines: readonly { name: string; series: number; values: readonly (number | null)[] }[];
}

const [left, right, height, gap] = [64, width - 16, 118, 58];

/** Points joined where neighbours have values; a lone one is a short dash. */
function path(values: readonly (number | null)[], x: (at: number) => number, y: (value: number) => number): string {
  let text = "";
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const joined = at > 0 && values[at - 1] !== null;
    text += `${joined ? "L" : "M"}${x(at)},${y(value)}`;
    if (!joined && (values[at + 1] ?? null) === null) text += "h2";
  }
  return text;
}

/**
 * @param seconds middle of each slice
 * @param stalls [start, length], seconds
 */
export function panelsFigure(
  panels: readonly Panel[],
  seconds: readonly number[],
  endSeconds: number,
  stalls: readonly (readonly [number, number])[],
): string {
  const x = linear([0, endSeconds], [left, right]);
  const drawn = panels.map(({ label, log = false, lines }, k) => {
    const top = 40 + k * (height + gap);
    const bottom = top + height;
    const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
    const positive = values.filter((value) => value > 0);
    const most = Math.max(1e-9, ...values);
    const y =
      log && positive.length > 0
        ? logarithmic([Math.min(...positive), Math.max(...positive)], [bottom, top])
        : linear([0, most], [bottom, top], 4);
    const bands = stalls.map(
      ([at, length]) =>
        `<rect class="stall" x="${x(Math.max(0, at))}" width="${Math.max(1, x(at + length) - x(Math.max(0, at))).toFixed(1)}" y="${top}" height="${height}"/>`,
    );
    const curves = lines.map(
      (line) =>
        `<path class="curve s${line.series % colours} d${line.series % 4}" d="${path(
          line.values,
          (at) => x(seconds[at]!),
          (value) => y(value),
        )}"/>`,
    );
    const legend = lines.map((line, at) => {
      const from = right - (lines.length - at) * 118;
      return `<line class="curve s${line.series % colours} d${line.series % 4}" x1="${from}" x2="${from + 26}" y1="${top - 14}" y2="${top - 14}"/><text class="tick" x="${from + 31}" y="${top - 10}">${escape(line.name)}</text>`;
    });
    const name = `<text class="axis" x="4" y="${top - 10}">${escape(label)}</text>`;
    return `${axisY(y, left, right, "", figure)}${axisX(x, bottom, top, k === panels.length - 1 ? "seconds" : "")}${bands.join("")}${curves.join("")}${name}${legend.join("")}`;
  });
  return picture(
    "series",
    40 + panels.length * (height + gap),
    "The run over its time",
    "Requests due, answered and failed, latency, requests in flight and tokens by second; shaded bands are host stalls.",
    drawn.join(""),
  );
}
