/** A run against an endpoint in a terminal: is it valid, the figures with what they are certain of, the targets, the ledger. */
import type { EndpointRun } from "../bench/index.ts";
import type { MetricSummary } from "../load/index.ts";
import { figure, percent } from "./format.ts";

const limitOf = (p: number): string => `p${Number((100 * p).toPrecision(4))}`;
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

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((text, column) => (column < 2 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Renders it. @param folder where the records are, as shown to the user */
export function renderEndpoint({ question, context, run, tokens, table: records }: EndpointRun, folder: string): string {
  const { load, durationMs, url, model, inputTokens, outputTokens } = question;
  const asked =
    load.kind === "open"
      ? `${figure(load.ratePerSecond)} requests/s, ${load.arrival.kind === "gamma" ? `gamma with variation ${load.arrival.cv}` : load.arrival.kind}`
      : `${load.concurrency} in flight`;
  const ledger = Object.entries(run.ledger)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`);
  const head = [
    "",
    "",
    "mean",
    ...tokens.metrics[0]!.percentiles.map(({ p }) => limitOf(p)),
    "p99, 95 % interval",
    "p99 certified",
    "requests",
  ];
  const lines = [
    `${url} · ${model} · ${asked} · ${figure(durationMs / 1000)} s · ${records.length} requests`,
    ...(context.windowMs < 0.99 * durationMs ? [`stopped after ${figure(context.windowMs / 1000)} s`] : []),
    run.valid ? "valid" : `INVALID: ${run.reasons.join("; ")}`,
    ...(run.tainted ? [`host stalls touched the run (${run.stalls}): it can certify that a target is met, and nothing else`] : []),
    "",
    table([head, ...tokens.metrics.filter(({ count }) => count > 0).map(metricRow)]),
    "",
    `Output ${figure(tokens.outputPerSecond)} tokens/s, ${percent(tokens.usefulRatio)} of them useful · input ${figure(tokens.inputPerSecond)} tokens/s` +
      ` · ${figure(run.achievedPerSecond)} requests/s sent, ${figure(run.offeredPerSecond)} asked`,
  ];
  if (tokens.goodput) lines.push(`Goodput ${figure(tokens.goodput.perSecond)} requests/s, ${percent(tokens.goodput.attainment)} of all`);
  if (tokens.gaps)
    lines.push(
      `Gaps between events: p50 ${figure(tokens.gaps.p50Ms)} ms, p99 ${figure(tokens.gaps.p99Ms)} ms, ${percent(tokens.gaps.zeroRatio)} none, of ${tokens.gaps.count}` +
        (tokens.tokensPerFrame === null ? "" : ` · ${figure(tokens.tokensPerFrame)} tokens an event`) +
        (tokens.weightedTpotMs === null ? "" : ` · TPOT weighted by tokens ${figure(tokens.weightedTpotMs)} ms`),
    );
  lines.push(`Requests: ${ledger.join(", ") || "none"}`);
  const length = (tag: string): number | null => tokens.metrics.find((metric) => metric.tag === tag)?.percentiles[0]?.value ?? null;
  lines.push(
    `Lengths: ${inputTokens} input tokens asked, ${cell(length("input"), "not told")} counted; at most ${outputTokens} output tokens asked, ${cell(length("output"), "not told")} counted (medians)`,
  );
  if (tokens.cachedRatio !== null && tokens.cachedRatio > 0.01)
    lines.push(`${percent(tokens.cachedRatio)} of the prompt tokens came out of the server's cache`);
  if (tokens.assumedRatio > 0)
    lines.push(`TPOT assumes one token in the first event for ${percent(tokens.assumedRatio)} of the answers: no cumulative usage came`);
  if (tokens.uncountedRatio > 0)
    lines.push(`${percent(tokens.uncountedRatio)} of the answers brought no usage: each event counts as one token`);
  for (const [what, count] of context.peculiarities ?? []) lines.push(`${count} × ${what}`);
  lines.push(`Generator: lag p99 ${figure(run.lagP99Ms)} ms, ${run.stalls} host stalls, ${context.connections} connections`, "");
  for (const { tag, p, limit, result, reason } of tokens.targets)
    lines.push(`${{ pass: "pass", fail: "FAIL", "cannot-tell": "open" }[result]}  ${tag}.${limitOf(p)} ≤ ${figure(limit, 6)}: ${reason}`);
  return `${lines.join("\n")}\n\nRecords: ${folder}\n`;
}
