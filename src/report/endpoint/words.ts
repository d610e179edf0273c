/** What a run against endpoints shows, as lines and rows of text: the terminal and the page lay the same ones out. */
import {
  describeLengths,
  rateOf,
  type Conclusion,
  type Difference,
  type EndpointQuestion,
  type EndpointRun,
  type EndpointVisit,
} from "../../bench/index.ts";
import { hasTokens, type Figures, type MetricSummary } from "../../load/index.ts";
import { bytes, figure, percent } from "../format.ts";

export const percentileName = (p: number): string => `p${Number((100 * p).toPrecision(4))}`;
export const sides = ["first", "second"] as const;
const cell = (value: number | null, whenNull = "–"): string => (value === null ? whenNull : figure(value));

/** A head and its rows, all of one width. */
export type Rows = string[][];

/** The value of a percentile as shown. */
export const shownValue = ({ figures }: EndpointVisit, tag: string, p: number): number | null =>
  figures.metrics.find((metric) => metric.tag === tag)?.percentiles.find((one) => one.p === p)?.value ?? null;

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

export function metricRows({ metrics }: Figures): Rows {
  const head = [
    "metric",
    "unit",
    "mean",
    ...metrics[0]!.percentiles.map(({ p }) => percentileName(p)),
    "p99, 95 % interval",
    "p99 certified",
    "requests",
  ];
  return [head, ...metrics.filter(({ count }) => count > 0).map(metricRow)];
}

/** Requests in flight, mean over the window. */
function inFlight({ context }: EndpointVisit): string {
  const [samples, sum] = context.inFlight.reduce(([count, total], [more, added]) => [count + more, total + added], [0, 0]);
  return samples === 0 ? "–" : figure(sum / samples);
}

export const faultsOf = (ledger: Readonly<Record<string, number>>): string[] =>
  Object.entries(ledger)
    .filter(([outcome, count]) => outcome !== "good" && count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`);

/** Visits side by side; the first column and the last are words. */
export function visitRows(visits: readonly EndpointVisit[]): Rows {
  const tokens = visits.some(({ figures }) => figures.outputPerSecond > 0);
  const head = [
    "requests/s asked",
    "sent",
    "good",
    ...(tokens ? ["TTFT p50", "p99", "TPOT p50"] : []),
    "E2E p50",
    "p99 ms",
    ...(tokens ? ["tokens/s"] : []),
    "in flight",
    "what else",
  ];
  const rows = visits.map((visit) => {
    const { run, figures, load, context } = visit;
    const value = (tag: string, p: number): string => cell(shownValue(visit, tag, p));
    const asked = rateOf(load, context);
    const targets = figures.targets.map(({ tag, p, result }) => `${tag}.${percentileName(p)} ${result}`).join(", ");
    return [
      asked === null ? "closed loop" : figure(asked),
      figure(run.achievedPerSecond),
      percent(visit.table.length === 0 ? 0 : run.ledger.good / visit.table.length),
      ...(tokens ? [value("ttft", 0.5), value("ttft", 0.99), value("tpot", 0.5)] : []),
      value("e2e", 0.5),
      value("e2e", 0.99),
      ...(tokens ? [figure(figures.outputPerSecond)] : []),
      inFlight(visit),
      [...faultsOf(run.ledger), ...(run.valid ? [] : [`INVALID: ${run.reasons[0] ?? ""}`]), ...(targets ? [targets] : [])].join("; ") ||
        "–",
    ];
  });
  return [head, ...rows];
}

/** By rate, as a sweep shows them. */
export const byRate = (visits: readonly EndpointVisit[]): EndpointVisit[] =>
  visits.toSorted((a, b) => (rateOf(a.load) ?? 0) - (rateOf(b.load) ?? 0));

const bounds: Record<Extract<Conclusion, { kind: "capacity" }>["capacity"]["limit"], string> = {
  target: "the next rate misses a target",
  generator: "the load generator itself is the limit above it, so the endpoint may hold more",
  "host-stalls": "host stalls hide what is above it",
  "search-end": "the search ended there without a miss",
  budget: "the search was stopped",
};

export function capacityLines({ capacity }: Extract<Conclusion, { kind: "capacity" }>): string[] {
  const { lowPerSecond, highPerSecond, limit, monotone } = capacity;
  const above = highPerSecond === null ? bounds[limit] : `${figure(highPerSecond)} requests/s misses`;
  return [
    lowPerSecond === 0 ? `No rate was found that keeps every target: ${above}` : `Capacity ${figure(lowPerSecond)} requests/s: ${above}`,
    ...(highPerSecond !== null && limit !== "target" ? [bounds[limit]] : []),
    ...(monotone ? [] : ["A rate above one that missed was kept: the endpoint does not behave alike from visit to visit"]),
  ];
}

function differenceRow({ what, unit, ratio, answer, visible, morePairs }: Difference): string[] {
  return [
    `${what} (${unit})`,
    answer,
    ratio ? `${figure(ratio.value)} (${figure(ratio.low)} – ${figure(ratio.high)})` : "–",
    ratio ? String(ratio.pairs) : "0",
    visible === null ? "–" : percent(visible),
    morePairs === 0 ? "" : `about ${morePairs} more pairs would tell`,
  ];
}

export const differenceRows = (differences: readonly Difference[]): Rows => [
  ["second against first", "answer", "ratio, 95 % interval", "pairs", "smallest that shows", "to tell"],
  ...differences.map(differenceRow),
];

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
  if (assumedRatio > uncountedRatio)
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

/** What the server's own metrics tell. */
function serverLines({ server }: EndpointVisit): string[] {
  if (!server) return [];
  const { url, counts, times, gauges } = server;
  const said = [
    ...counts.filter(({ value }) => value > 0).map(({ what, value }) => `${figure(value, 6)} ${what}`),
    ...times.map(({ what, meanMs }) => `${what} ${figure(meanMs)} ms`),
    ...gauges.map(({ what, mean, most }) =>
      what.includes("bytes") ? `memory at most ${bytes(most)}` : `${what} ${figure(mean)}, at most ${figure(most)}`,
    ),
  ];
  return said.length === 0 ? [] : [`The server itself (${url}): ${said.join(" · ")}`];
}

/** What else a visit tells besides its metrics. */
export function visitNotes(question: EndpointQuestion, visit: EndpointVisit): string[] {
  const { run, figures, context, table } = visit;
  const { goodput } = figures;
  const ledger = Object.entries(run.ledger)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`);
  return [
    [
      ...(hasTokens(table)
        ? [
            `Output ${figure(figures.outputPerSecond)} tokens/s, ${percent(figures.usefulRatio)} of them useful`,
            ...(figures.inputPerSecond > 0 ? [`input ${figure(figures.inputPerSecond)} tokens/s`] : []),
          ]
        : []),
      `${figure(run.achievedPerSecond)} requests/s sent, ${figure(run.offeredPerSecond)} asked`,
    ].join(" · "),
    ...(goodput ? [`Goodput ${figure(goodput.perSecond)} requests/s, ${percent(goodput.attainment)} of all`] : []),
    `Requests: ${ledger.join(", ") || "none"}`,
    ...tokenLines(question, visit),
    ...serverLines(visit),
    ...(context.peculiarities ?? []).map(([what, count]) => `${count} × ${what}`),
    `Generator: lag p99 ${figure(run.lagP99Ms)} ms, ${run.stalls} host stalls, ${context.connections} connections`,
  ];
}

const metricName = (question: EndpointQuestion): { tag: string; name: string } =>
  question.endpoints[0]!.protocol === "prompt" ? { tag: "ttft", name: "TTFT" } : { tag: "e2e", name: "E2E" };

/** The answer in one sentence and a word with the colour of it. */
export function headline({ question, visits, conclusion }: EndpointRun): { sentence: string; text: string; className: string } {
  const [first] = visits;
  if (!first) return { sentence: "Nothing was measured.", text: "Cannot tell yet", className: "cannot-tell" };
  switch (conclusion.kind) {
    case "one": {
      const { run, figures } = first;
      const { tag, name } = metricName(question);
      const applies = shownValue(first, tag, 0.5) !== null || tag === "e2e";
      const use = applies ? { tag, name } : { tag: "e2e", name: "E2E" };
      const [p50, p99] = [shownValue(first, use.tag, 0.5), shownValue(first, use.tag, 0.99)];
      const asked = rateOf(first.load, first.context);
      const sentence = `${use.name} p50 ${cell(p50)} ms, p99 ${cell(p99)} ms at ${asked === null ? `${(first.load as { concurrency: number }).concurrency} in flight` : `${figure(asked)} requests/s`}`;
      const results = figures.targets.map(({ result }) => result);
      if (!run.valid) return { sentence, text: "Invalid", className: "invalid" };
      if (results.includes("fail")) return { sentence, text: "A target is missed", className: "fail" };
      if (results.includes("cannot-tell")) return { sentence, text: "Cannot tell yet", className: "cannot-tell" };
      return { sentence, text: results.length > 0 ? "Every target is met" : "Valid", className: "pass" };
    }
    case "sweep":
      return {
        sentence: `Measured at ${byRate(visits)
          .map(({ load }) => figure(rateOf(load)))
          .join(", ")} requests/s`,
        ...(visits.every(({ run }) => run.valid)
          ? { text: "Valid", className: "pass" }
          : { text: "Some visits are invalid", className: "invalid" }),
      };
    case "capacity": {
      const { lowPerSecond, limit } = conclusion.capacity;
      const kind =
        lowPerSecond === 0
          ? {
              text: limit === "target" ? "No rate keeps the targets" : "Cannot tell yet",
              className: limit === "target" ? "fail" : "cannot-tell",
            }
          : limit === "target" || limit === "search-end"
            ? { text: "Found", className: "pass" }
            : { text: "A lower bound", className: "cannot-tell" };
      return { sentence: capacityLines(conclusion)[0]!, ...kind };
    }
    case "against": {
      const told = conclusion.differences.filter(({ morePairs }) => morePairs === 0);
      const open = conclusion.differences.length - told.length;
      return {
        sentence: `Second against first: ${conclusion.differences.map(({ what, answer }) => `${what} ${answer}`).join(", ")}`,
        text: open === 0 ? "Told apart" : `${open} of ${conclusion.differences.length} open`,
        className: open === 0 ? "pass" : "cannot-tell",
      };
    }
  }
}
