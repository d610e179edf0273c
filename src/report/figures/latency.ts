/** Latency distributions: percentile against time, so that tails are seen; targets as marks. */
import type { CandidateVerdict } from "../../decide/index.ts";
import { escape, figure } from "../format.ts";
import { axisY, colours, cut, linear, logarithmic, picture, width } from "./plot.ts";

/** Percent → distance from 100 on a log scale: 50, 90, 99, 99.9 are a step apart each. */
const tail = (percent: number): number => -Math.log10(Math.max(0.0005, 1 - percent / 100));

export function latencyFigure(candidates: readonly CandidateVerdict[]): string {
  const shown = candidates.flatMap((candidate, series) => (candidate.latency ? [{ candidate, series, latency: candidate.latency }] : []));
  if (shown.length === 0) return "";
  const [left, right, top, bottom] = [64, width - 20, 34, 300];
  const targets = [
    ...new Map(
      shown.flatMap(({ latency }) => latency.percentiles.filter(({ targetMs }) => targetMs !== null)).map((one) => [one.percentile, one]),
    ).values(),
  ];
  const all = [...shown.flatMap(({ latency }) => latency.curve.map(([, ms]) => ms)), ...targets.map(({ targetMs }) => targetMs!)].filter(
    (ms) => ms > 0,
  );
  const y = logarithmic([Math.min(...all), Math.max(...all)], [bottom, top]);
  const x = linear([0, 3], [left, right]);
  const at = (percent: number): number => x(tail(percent));
  const ticks = [0, 50, 90, 95, 99, 99.9].map(
    (percent) =>
      `<line class="grid" x1="${at(percent)}" x2="${at(percent)}" y1="${top}" y2="${bottom}"/><text class="tick" text-anchor="middle" x="${at(percent)}" y="${bottom + 18}">p${percent}</text>`,
  );
  const lines = shown.map(({ latency, series }) => {
    const band = latency.percentiles.filter(({ low, high }) => low !== null && high !== null);
    const whiskers = band.map(
      ({ percentile, low, high }) =>
        `<line class="whisker s${series % colours}" x1="${at(percentile) + 3 * series}" x2="${at(percentile) + 3 * series}" y1="${y(low!)}" y2="${y(high!)}"/>`,
    );
    return `<polyline class="curve s${series % colours} d${series % 4}" points="${latency.curve.map(([percent, ms]) => `${at(percent)},${y(ms)}`).join(" ")}"/>${whiskers.join("")}`;
  });
  const goals = targets.map(({ percentile, targetMs }) => {
    const [px, py] = [at(percentile), y(targetMs!)];
    return `<path class="limit" d="M${px - 14} ${py}H${px + 14}M${px - 5} ${py + 7}L${px} ${py}L${px + 5} ${py + 7}"/><text class="limit-text" text-anchor="middle" x="${px}" y="${py - 6}">target ${escape(figure(targetMs))} ms</text>`;
  });
  const legend = shown.map(({ candidate, series }, i) => {
    const row = bottom + 44 + i * 20;
    return `<line class="curve s${series % colours} d${series % 4}" x1="${left}" x2="${left + 34}" y1="${row}" y2="${row}"/><text class="name" x="${left + 42}" y="${row + 4}">${escape(cut(candidate.name, 60))}</text>`;
  });
  return picture(
    "latency",
    bottom + 48 + shown.length * 20,
    "Latency distributions",
    "Each finalist's latency by percentile, with 95 % intervals and targets; the numbers are in the table below.",
    `${axisY(y, left, right, "milliseconds", figure)}${ticks.join("")}${lines.join("")}${goals.join("")}${legend.join("")}`,
  );
}
