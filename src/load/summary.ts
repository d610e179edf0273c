/**
 * Records → figures and the run's validity, by the definitions of the guide's page on measurement.
 * Pure: the same records give the same figures on every machine.
 */
import { figure } from "../base/index.ts";
import { percentile } from "../stats/index.ts";
import type { LoadContext } from "./plan.ts";
import { outcomeClasses, outcomeNumber, type OutcomeClass, type RecordTable } from "./records.ts";

/** Mean milliseconds of a request in each stage. */
export interface StageTimes {
  /** Due → first byte handed to the socket. */
  client: number;
  /** What neither the client's nor the server's clock explains. */
  network: number;
  queue: number;
  compute: number;
}

export interface RunSummary {
  scheduled: number;
  ledger: Readonly<Record<OutcomeClass, number>>;
  succeeded: number;
  /** Due → last byte of every scheduled request but cancelled ones, ascending, milliseconds; one that never ended well counts as the timeout. */
  latencyMs: Float64Array;
  /** The same without requests whose life a host stall overlaps. */
  calmLatencyMs: Float64Array;
  /** Means over successes that told their times, and over those of them above the 95th percentile. */
  stages: { mean: StageTimes; above95: StageTimes } | null;
  /** Slope of latency over the window, milliseconds per millisecond. */
  drift: number;
  valid: boolean;
  reasons: string[];
  /** Host stalls touched so much that the run can certify a pass and nothing else. */
  tainted: boolean;
  lagP99Ms: number;
  stalls: number;
  stolenRatio: number | null;
  offeredPerSecond: number;
  /** (sent − 1) ÷ (last send − first send). */
  achievedPerSecond: number;
}

/** Share of the requests that stalls may touch before they can decide a percentile. */
const taintShare = 0.005;
const tolerance = 0.01;
/** Growth of latency per time offered above which a rate is not sustained: the server falls behind by this share. */
export const sustainedDrift = 0.02;
const littleTolerance = 0.05;

/** For each request whether a stall overlaps its life; both ascend by time. */
function touchedBy(table: RecordTable, stalls: readonly (readonly [number, number])[]): Uint8Array {
  const touched = new Uint8Array(table.length);
  let first = 0;
  for (let i = 0; i < table.length; i++) {
    const from = table.scheduledNs[i]! / 1e6;
    const to = table.doneNs[i]! / 1e6;
    while (first < stalls.length && stalls[first]![0] + stalls[first]![1] < from - 1000) first++;
    for (let k = first; k < stalls.length && stalls[k]![0] <= to; k++) {
      if (stalls[k]![0] + stalls[k]![1] >= from) {
        touched[i] = 1;
        break;
      }
    }
  }
  return touched;
}

function stagesOf(table: RecordTable, good: number): RunSummary["stages"] {
  const rows: [total: number, client: number, queue: number, compute: number][] = [];
  for (let i = 0; i < table.length; i++) {
    if (table.outcome[i] !== good || Number.isNaN(table.queueUs[i])) continue;
    const client = (table.sentNs[i]! - table.scheduledNs[i]!) / 1e6;
    rows.push([(table.doneNs[i]! - table.scheduledNs[i]!) / 1e6, client, table.queueUs[i]! / 1000, table.computeUs[i]! / 1000]);
  }
  if (rows.length === 0) return null;
  const mean = (some: typeof rows): StageTimes => {
    const meanOf = (at: 0 | 1 | 2 | 3): number => some.reduce((sum, row) => sum + row[at], 0) / some.length;
    const [total, client, queue, compute] = [meanOf(0), meanOf(1), meanOf(2), meanOf(3)];
    return { client, network: Math.max(0, total - client - queue - compute), queue, compute };
  };
  const limit = percentile(Float64Array.from(rows, ([total]) => total).sort(), 0.95)!;
  const slow = rows.filter(([total]) => total > limit);
  return { mean: mean(rows), above95: mean(slow.length > 0 ? slow : rows) };
}

/** Least-squares slope of y over x; 0 below three points. */
function slope(x: readonly number[], y: readonly number[]): number {
  if (x.length < 3) return 0;
  const mx = x.reduce((a, b) => a + b, 0) / x.length;
  const my = y.reduce((a, b) => a + b, 0) / y.length;
  let [sxy, sxx] = [0, 0];
  for (let i = 0; i < x.length; i++) {
    sxy += (x[i]! - mx) * (y[i]! - my);
    sxx += (x[i]! - mx) ** 2;
  }
  return sxx === 0 ? 0 : sxy / sxx;
}

/** The drift: the slope over the medians of ten slices of the window, so that a stall of one slice is no drift. */
function driftOf(table: RecordTable, windowMs: number): number {
  const slices: number[][] = Array.from({ length: 10 }, () => []);
  for (let i = 0; i < table.length; i++) {
    const at = table.scheduledNs[i]! / 1e6;
    slices[Math.min(9, Math.max(0, Math.floor((10 * at) / windowMs)))]!.push((table.doneNs[i]! - table.scheduledNs[i]!) / 1e6);
  }
  const points = slices.flatMap((values, k) =>
    values.length === 0
      ? []
      : [
          [
            (k + 0.5) * (windowMs / 10),
            percentile(
              values.sort((a, b) => a - b),
              0.5,
            )!,
          ] as const,
        ],
  );
  return slope(
    points.map(([x]) => x),
    points.map(([, y]) => y),
  );
}

/** Little's law, |L − λW| ÷ L, where enough samples tell it from chance; null when it holds or cannot be told. */
function littleBroken(table: RecordTable, { inFlight, windowMs }: LoadContext): string | null {
  const parts = inFlight.filter(([samples]) => samples >= 20).map(([samples, sum]) => sum / samples);
  if (parts.length < 5) return null;
  const length = parts.reduce((a, b) => a + b, 0) / parts.length;
  const sd = Math.sqrt(parts.reduce((sum, part) => sum + (part - length) ** 2, 0) / (parts.length - 1));
  let time = 0;
  for (let i = 0; i < table.length; i++) {
    const from = Math.max(0, table.scheduledNs[i]! / 1e6);
    time += Math.max(0, Math.min(windowMs, table.doneNs[i]! / 1e6) - from);
  }
  const expected = time / windowMs;
  const off = Math.abs(length - expected);
  // What is in flight at the edges, and the few samples of a light load, are no breach.
  const chance = (4 * sd) / Math.sqrt(parts.length) + 0.05;
  return off > littleTolerance * length && off > chance
    ? `Little's law is broken: ${figure(length)} in flight, ${figure(expected)} expected`
    : null;
}

/**
 * Sums up a run.
 * @param latencyLimitMs the target of the highest percentile, for the rule on the generator's own lag; null = none
 */
export function summarise(table: RecordTable, context: LoadContext, { latencyLimitMs }: { latencyLimitMs: number | null }): RunSummary {
  const good = outcomeNumber("good");
  const cancelled = outcomeNumber("cancelled");
  const counts = outcomeClasses.map(() => 0);
  for (let i = 0; i < table.length; i++) counts[table.outcome[i]!]!++;
  const ledger = Object.fromEntries(outcomeClasses.map((name, k) => [name, counts[k]!])) as Record<OutcomeClass, number>;
  const touched = touchedBy(table, context.stalls);

  const all: number[] = [];
  const calm: number[] = [];
  const lags: number[] = [];
  let stalledCount = 0;
  let [firstSend, lastSend, sends] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  let [lastDue, lastIssued] = [0, 0];
  for (let i = 0; i < table.length; i++) {
    const outcome = table.outcome[i]!;
    lastDue = Math.max(lastDue, table.scheduledNs[i]!);
    const sent = table.sentNs[i]!;
    const issued = table.issuedNs[i]!;
    lags.push((issued - table.scheduledNs[i]!) / 1e6);
    lastIssued = Math.max(lastIssued, issued);
    if (!Number.isNaN(sent)) {
      firstSend = Math.min(firstSend, sent);
      lastSend = Math.max(lastSend, sent);
      sends++;
    }
    if (touched[i]) stalledCount++;
    if (outcome === cancelled) continue;
    const took = (table.doneNs[i]! - table.scheduledNs[i]!) / 1e6;
    const latency = outcome === good ? took : Math.max(took, context.timeoutMs);
    all.push(latency);
    if (!touched[i]) calm.push(latency);
  }
  const latencyMs = Float64Array.from(all).sort();
  const lagP99Ms = lags.length === 0 ? 0 : percentile(Float64Array.from(lags).sort(), 0.99)!;
  const calmLags = lags.length === 0 ? [] : calmLagsOf(table, touched);
  const calmLagP99Ms = calmLags.length === 0 ? 0 : mostOf(calmLags);

  const reasons: string[] = [];
  const allowed = Math.max(1, tolerance * (latencyLimitMs ?? 0));
  const open = context.openRatePerSecond !== null;
  if (table.length === 0) reasons.push("nothing was scheduled");
  if (open && calmLagP99Ms > allowed) {
    const pauses = context.pauses.length > 0 ? `; ${context.pauses.length} pauses of its own above 1 ms` : "";
    reasons.push(
      `the generator sent late: lag p99 ${figure(calmLagP99Ms)} ms where no host stall explains it, at most ${figure(allowed)} ms is allowed${pauses}`,
    );
  }
  if (ledger.cancelled > 0) reasons.push(`it was stopped: ${ledger.cancelled} requests were cancelled`);
  if (open && table.length > 1) {
    const spanMs = (lastIssued - table.issuedNs[0]!) / 1e6;
    const planMs = (lastDue - table.scheduledNs[0]!) / 1e6;
    if (Math.abs(spanMs - planMs) > Math.max(tolerance * planMs, allowed + longest(context.stalls))) {
      reasons.push(`it took ${figure(spanMs)} ms to issue what was due within ${figure(planMs)} ms`);
    }
  }
  const little = open ? littleBroken(table, context) : null;
  if (little) reasons.push(little);
  return {
    scheduled: table.length - ledger.cancelled,
    ledger,
    succeeded: ledger.good,
    latencyMs,
    calmLatencyMs: Float64Array.from(calm).sort(),
    stages: stagesOf(table, good),
    drift: driftOf(table, context.windowMs),
    valid: reasons.length === 0,
    reasons,
    tainted: stalledCount > taintShare * table.length,
    lagP99Ms,
    stalls: context.stalls.length,
    stolenRatio: context.stolenRatio,
    offeredPerSecond: table.length / (context.windowMs / 1000),
    achievedPerSecond: sends > 1 ? (sends - 1) / ((lastSend - firstSend) / 1e9) : 0,
  };
}

/** The 99th percentile, and of fewer than a hundred the largest but one: a single late send of forty is no lag of the generator. */
function mostOf(lags: readonly number[]): number {
  const sorted = Float64Array.from(lags).sort();
  return sorted[Math.max(0, sorted.length - 1 - Math.ceil(0.01 * sorted.length))]!;
}

const longest = (stalls: readonly (readonly [number, number])[]): number => stalls.reduce((most, [, length]) => Math.max(most, length), 0);

function calmLagsOf(table: RecordTable, touched: Uint8Array): number[] {
  const lags: number[] = [];
  for (let i = 0; i < table.length; i++) {
    if (!touched[i]) lags.push((table.issuedNs[i]! - table.scheduledNs[i]!) / 1e6);
  }
  return lags;
}
