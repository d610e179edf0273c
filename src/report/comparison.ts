/** Two runs side by side in a terminal. */
import type { CandidateVerdict, Comparison, Verdict } from "../decide/index.ts";
import { figure, metricValue, milliseconds, rate, usd } from "./format.ts";

const accuracyOf = (one: CandidateVerdict): string =>
  one.accuracy === null ? "–" : metricValue(one.accuracy.metric, one.accuracy.value.value);
const percentileOf = (one: CandidateVerdict, wanted: number): string =>
  milliseconds(one.latency?.percentiles.find(({ percentile }) => percentile === wanted)?.ms ?? null);

const figures: readonly (readonly [string, (one: CandidateVerdict) => string])[] = [
  ["p50", (one) => percentileOf(one, 50)],
  ["p99", (one) => percentileOf(one, 99)],
  ["capacity", (one) => (one.capacity && one.capacity.lowPerSecond > 0 ? rate(one.capacity.lowPerSecond) : "–")],
  ["$/M good", (one) => (one.cost ? usd(one.cost.perMillionGoodUsd.value) : "unknown")],
  ["accuracy", accuracyOf],
];

/** The comparison as lines of text. */
export function renderComparison(first: Verdict, second: Verdict, { agrees, disagreements, differences, candidates }: Comparison): string {
  const head = ["candidate", ...figures.map(([name]) => name), "× latency to baseline"];
  const rows = candidates.map(({ name, first: a, second: b, latency }) => [
    name,
    ...figures.map(([, show]) => `${a ? show(a) : "–"} → ${b ? show(b) : "–"}`),
    latency ? `${figure(latency.value)} (${figure(latency.low)} – ${figure(latency.high)})` : "",
  ]);
  const widths = head.map((cell, c) => Math.max(cell.length, ...rows.map((cells) => cells[c]!.length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, c) => cell.padEnd(widths[c]!))
      .join("  ")
      .trimEnd();
  return [
    "",
    `first:  ${first.answer.sentence}`,
    `second: ${second.answer.sentence}`,
    "",
    line(head),
    ...rows.map(line),
    "",
    agrees ? "The second run agrees with the first." : "The second run does not agree with the first:",
    ...disagreements.map((one) => `• ${one}`),
    "What differs:",
    ...differences.map((one) => `• ${one}`),
    "",
  ].join("\n");
}
