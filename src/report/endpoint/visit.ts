/** One visit of an endpoint in a terminal: is it valid, the figures with what they are certain of, the targets, the ledger. */
import { describeLengths, describeLoad, type EndpointQuestion, type EndpointVisit } from "../../bench/index.ts";
import { hasTokens, type Figures, type MetricSummary } from "../../load/index.ts";
import { figure, percent } from "../format.ts";
import { textTable } from "./table.ts";

export const percentileName = (p: number): string => `p${Number((100 * p).toPrecision(4))}`;
const cell = (value: number | null, whenNull = "–"): string => (value === null ? whenNull : figure(value));

function metricRow({ title, tag, unit, mean, missing, count, percentiles }: MetricSummary): string[] {
  const p99 = percentiles.at(-1)!;
  const bounds = p99.low === null && p99.high === null ? "" : `${cell(p99.low)} – ${cell(p99.high, "?")}`;
  return [
    `${title} (${tag})`,
    unit,
    cell(mean),
    ...percentiles.map(({ value }) => cell(value, missing > 0 ? "none came" : "–")),
    bounds,
    cell(p99.certified),
    String(count),
  ];
}

function metricTable({ metrics }: Figures): string {
  const head = [
    "",
    "",
    "mean",
    ...metrics[0]!.percentiles.map(({ p }) => percentileName(p)),
    "p99, 95 % interval",
    "p99 certified",
    "requests",
  ];
  return textTable([head, ...metrics.filter(({ count }) => count > 0).map(metricRow)], 2);
}

/** What the tokens tell. */
function tokenLines({ endpoints }: EndpointQuestion, { endpoint, figures, load }: EndpointVisit): string[] {
  const lines: string[] = [];
  const { gaps, tokensPerFrame, weightedTpotMs, cachedRatio, assumedRatio, uncountedRatio } = figures;
  if (gaps)
    lines.push(
      `Gaps between events: p50 ${figure(gaps.p50Ms)} ms, p99 ${figure(gaps.p99Ms)} ms, ${percent(gaps.zeroRatio)} none, of ${gaps.count}` +
        (tokensPerFrame === null ? "" : ` · ${figure(tokensPerFrame)} tokens an event`) +
        (weightedTpotMs === null ? "" : ` · TPOT weighted by tokens ${figure(weightedTpotMs)} ms`),
    );
  const asked = endpoints[endpoint]!;
  const length = (tag: string): number | null => figures.metrics.find((metric) => metric.tag === tag)?.percentiles[0]?.value ?? null;
  if (asked.protocol === "prompt" && load.kind !== "trace")
    lines.push(
      `Lengths: ${describeLengths(asked.input)} input tokens asked, ${cell(length("input"), "not told")} counted; ` +
        `at most ${describeLengths(asked.output)} output tokens asked, ${cell(length("output"), "not told")} counted (medians)`,
    );
  if (cachedRatio !== null && cachedRatio > 0.01) lines.push(`${percent(cachedRatio)} of the prompt tokens came out of the server's cache`);
  if (assumedRatio > 0)
    lines.push(`TPOT assumes one token in the first event for ${percent(assumedRatio)} of the answers: no cumulative usage came`);
  if (uncountedRatio > 0) lines.push(`${percent(uncountedRatio)} of the answers brought no usage: each event counts as one token`);
  return lines;
}

/** Whether the visit can be trusted, in words. */
export function standingLines({ run, context, durationMs, load }: EndpointVisit): string[] {
  return [
    ...(load.kind !== "trace" && context.windowMs < 0.99 * durationMs ? [`stopped after ${figure(context.windowMs / 1000)} s`] : []),
    run.valid ? "valid" : `INVALID: ${run.reasons.join("; ")}`,
    ...(run.tainted ? [`host stalls touched the run (${run.stalls}): it can certify that a target is met, and nothing else`] : []),
  ];
}

export const targetLine = ({ tag, p, limit, result, reason }: Figures["targets"][number]): string =>
  `${{ pass: "pass", fail: "FAIL", "cannot-tell": "open" }[result]}  ${tag}.${percentileName(p)} ≤ ${figure(limit, 6)}: ${reason}`;

/** All of a visit. */
export function visitLines(question: EndpointQuestion, visit: EndpointVisit): string[] {
  const { run, figures, context, table, load, durationMs } = visit;
  const ledger = Object.entries(run.ledger)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`);
  const { goodput } = figures;
  return [
    `${describeLoad(load)}${load.kind === "trace" ? "" : ` · ${figure(durationMs / 1000)} s`} · ${table.length} requests`,
    ...standingLines(visit),
    "",
    metricTable(figures),
    "",
    [
      ...(hasTokens(table)
        ? [
            `Output ${figure(figures.outputPerSecond)} tokens/s, ${percent(figures.usefulRatio)} of them useful`,
            `input ${figure(figures.inputPerSecond)} tokens/s`,
          ]
        : []),
      `${figure(run.achievedPerSecond)} requests/s sent, ${figure(run.offeredPerSecond)} asked`,
    ].join(" · "),
    ...(goodput ? [`Goodput ${figure(goodput.perSecond)} requests/s, ${percent(goodput.attainment)} of all`] : []),
    `Requests: ${ledger.join(", ") || "none"}`,
    ...tokenLines(question, visit),
    ...(context.peculiarities ?? []).map(([what, count]) => `${count} × ${what}`),
    `Generator: lag p99 ${figure(run.lagP99Ms)} ms, ${run.stalls} host stalls, ${context.connections} connections`,
    "",
    ...figures.targets.map(targetLine),
  ];
}
