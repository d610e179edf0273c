/**
 * Records → figures of requests and tokens, by the definitions of the guide's page on measurement: percentiles
 * over all scheduled requests, where one that brought nothing is worse than any that did; throughput inside
 * the window, answers cut by its edges included. Pure.
 */
import { certifiedUpperBound, percentileInterval, sampleFloor } from "../stats/index.ts";
import { gapPercentile, type GapCounts } from "./gaps.ts";
import { rowAt, requestMetrics, type RequestMetric, type Row } from "./metrics/index.ts";
import type { LoadContext } from "./plan.ts";
import { outcomeNumber, type RecordTable } from "./records.ts";

export interface MetricPercentile {
  /** 0–1. */
  p: number;
  /** Null = so many requests brought nothing that the percentile is one of them. */
  value: number | null;
  /** Exact 95 % interval from order statistics; null where the sample cannot bound that side. */
  low: number | null;
  high: number | null;
  /** Upper bound at 99 % confidence; null where the sample is too small or the bound is a request that brought nothing. */
  certified: number | null;
}

export interface MetricSummary {
  tag: string;
  title: string;
  unit: RequestMetric["unit"];
  /** Requests that it applies to, those that brought nothing included. */
  count: number;
  /** Those that brought nothing. */
  missing: number;
  /** Over those that brought something; null without any. */
  mean: number | null;
  percentiles: MetricPercentile[];
}

/** A limit on a percentile of a metric. */
export interface MetricTarget {
  tag: string;
  /** 0–1. */
  p: number;
  limit: number;
}

export interface TargetFinding extends MetricTarget {
  result: "pass" | "fail" | "cannot-tell";
  reason: string;
}

export interface Figures {
  metrics: MetricSummary[];
  /** Gaps between token-bearing events of all requests together; null without any. */
  gaps: { count: number; zeroRatio: number; p50Ms: number; p99Ms: number } | null;
  /** Mean TPOT with each request weighted by its tokens; null where it applies to none. */
  weightedTpotMs: number | null;
  /** Output tokens that arrived inside the window, per second, and the share of those of successful requests (0–1). */
  outputPerSecond: number;
  usefulRatio: number;
  inputPerSecond: number;
  /** Output tokens per token-bearing event; null without any. */
  tokensPerFrame: number | null;
  /** Share of successes whose first event is assumed to hold one token, as cumulative usage tells nothing. */
  assumedRatio: number;
  /** Share of successes whose output is counted by events, as no usage came. */
  uncountedRatio: number;
  /** Share of prompt tokens that the server took from its cache; null = not told. */
  cachedRatio: number | null;
  /** Requests scheduled in the window that succeed and meet the limit of every target, per second, and their share of all. */
  goodput: { perSecond: number; attainment: number } | null;
  targets: TargetFinding[];
}

const shownPercentiles = [0.5, 0.9, 0.95, 0.99];

const finite = (value: number | null): number | null => (value === null || !Number.isFinite(value) ? null : value);

function summariseMetric(metric: RequestMetric, rows: readonly Row[]): { summary: MetricSummary; sorted: Float64Array } {
  const sorted = Float64Array.from(rows, (row) => metric.of(row))
    .filter((value) => !Number.isNaN(value))
    .sort();
  const there = sorted.filter((value) => value !== Number.POSITIVE_INFINITY);
  const percentiles = shownPercentiles.map((p): MetricPercentile => {
    const found = percentileInterval(sorted, p);
    const { value, low, high } = found ?? { value: null, low: null, high: null };
    return { p, value: finite(value), low: finite(low), high: finite(high), certified: finite(certifiedUpperBound(sorted, p)) };
  });
  const { tag, title, unit } = metric;
  const mean = there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0) / there.length;
  return { summary: { tag, title, unit, count: sorted.length, missing: sorted.length - there.length, mean, percentiles }, sorted };
}

/**
 * Output tokens of a request that arrived within [from, to], milliseconds: those of the first event at its
 * read, the others spread evenly up to the last.
 */
export function tokensWithin({ first, last, firstTokens, outputTokens }: Row, from: number, to: number): number {
  // An answer that came whole brought all of it at its end.
  if (Number.isNaN(first)) return last >= from && last <= to ? outputTokens : 0;
  const after = Math.max(0, outputTokens - firstTokens);
  const begun = first >= from && first <= to ? Math.min(firstTokens, outputTokens) : 0;
  if (last <= first) return begun + (first >= from && first <= to ? after : 0);
  const share = Math.max(0, Math.min(last, to) - Math.max(first, from)) / (last - first);
  return begun + after * share;
}

function judgeTarget(target: MetricTarget, sorted: Float64Array, mayFail: boolean): TargetFinding {
  const { tag, p, limit } = target;
  const say = (result: TargetFinding["result"], reason: string): TargetFinding => ({ ...target, result, reason });
  const found = percentileInterval(sorted, p);
  if (!found) return say("cannot-tell", `${tag} applies to no request`);
  const bound = certifiedUpperBound(sorted, p);
  if (bound !== null && bound <= limit) return say("pass", `at most ${bound.toPrecision(4)} at 99 % confidence`);
  if (found.low !== null && found.low > limit) {
    const low = Number.isFinite(found.low) ? `at least ${found.low.toPrecision(4)}` : "requests that brought nothing";
    return mayFail
      ? say("fail", `${low} at 97.5 % confidence`)
      : say("cannot-tell", "host stalls touched the run: it can certify a pass only");
  }
  const floor = sampleFloor(p);
  return sorted.length < floor
    ? say("cannot-tell", `${sorted.length} requests; ${floor} are needed to certify p${Number((100 * p).toPrecision(4))}`)
    : say("cannot-tell", "the limit lies inside the interval: more requests would tell");
}

/**
 * Sums up a run.
 * @param mayFail whether the run may say that a target is missed: not where host stalls touched it
 */
export function summariseFigures(
  table: RecordTable,
  { windowMs, gaps, carriedTokens }: Pick<LoadContext, "windowMs" | "carriedTokens"> & { gaps?: GapCounts | undefined },
  targets: readonly MetricTarget[],
  mayFail: boolean,
): Figures {
  const cancelled = outcomeNumber("cancelled");
  const rows: Row[] = [];
  for (let at = 0; at < table.length; at++) if (table.outcome[at] !== cancelled) rows.push(rowAt(table, at));
  const made = requestMetrics.map((metric) => ({ metric, ...summariseMetric(metric, rows) }));
  const good = rows.filter((row) => row.good);
  const sum = (some: readonly Row[], of: (row: Row) => number): number => some.reduce((total, row) => total + of(row), 0);
  const within = (row: Row): number => tokensWithin(row, 0, windowMs);
  const output = sum(rows, within) + (carriedTokens ?? 0);
  const after = good.filter((row) => row.outputTokens - row.firstTokens >= 1);
  const meets = (row: Row): boolean =>
    row.good &&
    targets.every(({ tag, limit }) => {
      const value = requestMetrics.find((metric) => metric.tag === tag)!.of(row);
      return Number.isNaN(value) || value <= limit;
    });
  const { tokens } = table;
  const share = (of: (at: number) => boolean): number => {
    let [count, all] = [0, 0];
    for (let at = 0; at < table.length; at++) {
      if (table.outcome[at] !== outcomeNumber("good")) continue;
      all++;
      if (of(at)) count++;
    }
    return all === 0 ? 0 : count / all;
  };
  const total = (column: Uint32Array): number => column.reduce((all, value) => all + value, 0);
  const [prompt, cached] = tokens ? [total(tokens.promptTokens), total(tokens.cachedTokens)] : [0, 0];
  const gapCount = gaps ? gaps.counts.reduce((all, [, count]) => all + count, gaps.zero) : 0;
  return {
    metrics: made.map(({ summary }) => summary),
    gaps:
      gaps && gapCount > 0
        ? { count: gapCount, zeroRatio: gaps.zero / gapCount, p50Ms: gapPercentile(gaps, 0.5)!, p99Ms: gapPercentile(gaps, 0.99)! }
        : null,
    weightedTpotMs:
      after.length === 0 ? null : sum(after, (row) => row.last - row.first) / sum(after, (row) => row.outputTokens - row.firstTokens),
    outputPerSecond: output / (windowMs / 1000),
    usefulRatio: output === 0 ? 0 : (sum(good, within) + (carriedTokens ?? 0)) / output,
    inputPerSecond: sum(good, (row) => row.promptTokens) / (windowMs / 1000),
    tokensPerFrame: sum(good, (row) => row.frames) === 0 ? null : sum(good, (row) => row.outputTokens) / sum(good, (row) => row.frames),
    assumedRatio: share((at) => tokens !== null && tokens.frames[at]! > 0 && tokens.firstTokens[at] === 0),
    uncountedRatio: share((at) => tokens !== null && tokens.frames[at]! > 0 && tokens.outputTokens[at] === 0),
    cachedRatio: prompt === 0 || cached === 0 ? null : cached / prompt,
    goodput:
      targets.length === 0
        ? null
        : {
            perSecond: rows.filter(meets).length / (windowMs / 1000),
            attainment: rows.length === 0 ? 0 : rows.filter(meets).length / rows.length,
          },
    targets: targets.map((target) => judgeTarget(target, made.find(({ metric }) => metric.tag === target.tag)!.sorted, mayFail)),
  };
}
