/** Latency distributions: percentile against time, so that tails are seen; targets as marks. */
import { escape, figure } from "../format.ts";
import { axisY, colours, cut, linear, logarithmic, picture, width } from "./plot.ts";

/** Percent → distance from 100 on a log scale: 50, 90, 99, 99.9 are a step apart each. */
const tail = (percent: number): number => -Math.log10(Math.max(0.0005, 1 - percent / 100));

export interface Distribution {
  name: string;
  /** Which colour and dash. */
  series: number;
  /** [percent, milliseconds], ascending. */
  curve: readonly (readonly [number, number])[];
  /** 95 % intervals, milliseconds. */
  intervals: readonly { percentile: number; low: number | null; high: number | null }[];
}

export interface LatencyLimit {
  percentile: number;
  ms: number;
  /** Of which distribution, where it is not of all. */
  of?: string;
}

/** @param what the description for who cannot see it */
export function latencyFigure(shown: readonly Distribution[], limits: readonly LatencyLimit[], what: string): string {
  if (shown.length === 0) return "";
  const [left, right, top, bottom] = [64, width - 20, 34, 300];
  const all = [...shown.flatMap(({ curve }) => curve.map(([, ms]) => ms)), ...limits.map(({ ms }) => ms)].filter((ms) => ms > 0);
  const y = logarithmic([Math.min(...all), Math.max(...all)], [bottom, top]);
  const x = linear([0, 3], [left, right]);
  const at = (percent: number): number => x(tail(percent));
  const ticks = [0, 50, 90, 95, 99, 99.9].map(
    (percent) =>
      `<line class="grid" x1="${at(percent)}" x2="${at(percent)}" y1="${top}" y2="${bottom}"/><text class="tick" text-anchor="middle" x="${at(percent)}" y="${bottom + 18}">p${percent}</text>`,
  );
  const lines = shown.map(({ curve, intervals, series }) => {
    const whiskers = intervals.flatMap(({ percentile, low, high }) =>
      low === null || high === null
        ? []
        : [
            `<line class="whisker s${series % colours}" x1="${at(percentile) + 3 * series}" x2="${at(percentile) + 3 * series}" y1="${y(low)}" y2="${y(high)}"/>`,
          ],
    );
    return `<polyline class="curve s${series % colours} d${series % 4}" points="${curve.map(([percent, ms]) => `${at(percent)},${y(ms)}`).join(" ")}"/>${whiskers.join("")}`;
  });
  const goals = limits.map(({ percentile, ms, of }) => {
    const [px, py] = [at(percentile), y(ms)];
    return `<path class="limit" d="M${px - 14} ${py}H${px + 14}M${px - 5} ${py + 7}L${px} ${py}L${px + 5} ${py + 7}"/><text class="limit-text" text-anchor="middle" x="${px}" y="${py - 6}">${of === undefined ? "" : `${escape(of)} `}target ${escape(figure(ms))} ms</text>`;
  });
  const legend = shown.map(({ name, series }, i) => {
    const row = bottom + 44 + i * 20;
    return `<line class="curve s${series % colours} d${series % 4}" x1="${left}" x2="${left + 34}" y1="${row}" y2="${row}"/><text class="name" x="${left + 42}" y="${row + 4}">${escape(cut(name, 60))}</text>`;
  });
  return picture(
    "latency",
    bottom + 48 + shown.length * 20,
    "Latency distributions",
    what,
    `${axisY(y, left, right, "milliseconds", figure)}${ticks.join("")}${lines.join("")}${goals.join("")}${legend.join("")}`,
  );
}
