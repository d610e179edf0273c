/** How a run went over its time: the records in slices of the window. Pure. */
import { percentile } from "../stats/index.ts";
import { rowAt, type Row } from "./metrics/index.ts";
import { outcomeNumber, type RecordTable } from "./records.ts";

/** A slice of the window. Requests belong to the slice in which they were due, or where said, ended. */
export interface Slice {
  /** Since the window's start, milliseconds. */
  atMs: number;
  lengthMs: number;
  scheduled: number;
  /** Of those that ended in it. */
  good: number;
  failed: number;
  /** Mean of the requests that were sent and not yet ended. */
  inFlight: number;
  /** Output tokens that arrived in it. */
  tokens: number;
  /** Percentiles of the good requests that were due in it, milliseconds; null without one. */
  ttft: { p50: number; p95: number } | null;
  e2e: { p50: number; p95: number } | null;
  /** The generator's largest lag, milliseconds. */
  lagMs: number;
}

const mostSlices = 100;

/** The shortest round length that gives a hundred slices or fewer, milliseconds. */
export function sliceLength(windowMs: number): number {
  const raw = windowMs / mostSlices;
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-3)));
  const round = [1, 2, 5, 10].map((factor) => factor * power);
  return Math.max(
    10,
    round.find((length) => length >= raw * (1 - 1e-9))!,
  );
}

/** Adds an amount that is spread evenly from one time to another to the slices that it lies in, by their share. */
function createSpread(count: number, lengthMs: number): { add(from: number, to: number, amount: number): void; slices(): number[] } {
  const own = new Float64Array(count);
  /** Amount per whole slice, as it begins and ends. */
  const edges = new Float64Array(count + 1);
  return {
    add(from, to, amount) {
      const [a, b] = [from / lengthMs, to / lengthMs];
      const perSlice = amount / (b - a);
      const [first, last] = [Math.floor(a), Math.floor(b)];
      const put = (at: number, share: number): void => void (at >= 0 && at < count && (own[at]! += share * perSlice));
      if (first === last) return put(first, b - a);
      put(first, first + 1 - a);
      put(last, b - last);
      const [begin, end] = [Math.min(count, Math.max(0, first + 1)), Math.min(count, Math.max(0, last))];
      if (end <= begin) return;
      edges[begin]! += perSlice;
      edges[end]! -= perSlice;
    },
    slices() {
      let running = 0;
      return Array.from(own, (value, at) => {
        running += edges[at]!;
        return value + running;
      });
    },
  };
}

const two = (values: number[]): Slice["e2e"] => {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return { p50: percentile(sorted, 0.5)!, p95: percentile(sorted, 0.95)! };
};

function addTokens(spread: ReturnType<typeof createSpread>, { first, last, firstTokens, outputTokens }: Row): void {
  if (outputTokens === 0 || Number.isNaN(last)) return;
  const begun = Number.isNaN(first) ? 0 : Math.min(firstTokens, outputTokens);
  // At one moment: as short a time as can be told.
  const moment = 1e-6;
  if (begun > 0) spread.add(first, first + moment, begun);
  if (outputTokens > begun) spread.add(last > first ? first : last, last > first ? last : last + moment, outputTokens - begun);
}

/** The window in at most a hundred slices. @param windowMs its length, milliseconds */
export function seriesOf(table: RecordTable, windowMs: number): Slice[] {
  const lengthMs = sliceLength(windowMs);
  const count = Math.max(1, Math.ceil(windowMs / lengthMs - 1e-9));
  const at = (ms: number): number => Math.floor(ms / lengthMs);
  const [open, tokens] = [createSpread(count, lengthMs), createSpread(count, lengthMs)];
  const counts = (): Uint32Array => new Uint32Array(count);
  const [scheduled, good, failed, lag] = [counts(), counts(), counts(), new Float64Array(count)];
  const ttft: number[][] = Array.from({ length: count }, () => []);
  const e2e: number[][] = Array.from({ length: count }, () => []);
  const cancelled = outcomeNumber("cancelled");
  for (let row = 0; row < table.length; row++) {
    const one = rowAt(table, row);
    const due = Math.min(count - 1, Math.max(0, at(one.scheduled)));
    scheduled[due]!++;
    lag[due] = Math.max(lag[due]!, table.issuedNs[row]! / 1e6 - one.scheduled);
    const ended = at(one.done);
    if (ended >= 0 && ended < count && table.outcome[row] !== cancelled) (one.good ? good : failed)[ended]!++;
    if (one.done > one.sent) open.add(one.sent, one.done, one.done - one.sent);
    addTokens(tokens, one);
    if (!one.good) continue;
    e2e[due]!.push(one.last - one.scheduled);
    if (!Number.isNaN(one.first)) ttft[due]!.push(one.first - one.scheduled);
  }
  const [inFlight, tokensIn] = [open.slices(), tokens.slices()];
  return Array.from({ length: count }, (_, k) => {
    const length = Math.min(lengthMs, windowMs - k * lengthMs);
    return {
      atMs: k * lengthMs,
      lengthMs: length,
      scheduled: scheduled[k]!,
      good: good[k]!,
      failed: failed[k]!,
      inFlight: Math.max(0, inFlight[k]! / length),
      tokens: Math.max(0, tokensIn[k]!),
      ttft: two(ttft[k]!),
      e2e: two(e2e[k]!),
      lagMs: lag[k]!,
    };
  });
}
