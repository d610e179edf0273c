/** Where the time of a good request goes, as the client's clock tells it. Pure. */
import { percentile } from "../stats/index.ts";
import { rowAt } from "./metrics/index.ts";
import type { RecordTable } from "./records.ts";

export interface Phase {
  phase: string;
  meanMs: number;
  /** Of the mean request, 0–1. */
  shareOfMean: number;
  /** Of the requests above the 95th percentile, 0–1. */
  shareAboveP95: number;
}

const streamed = ["generator", "connection", "first byte", "first token", "further tokens", "end of stream"] as const;
const whole = ["generator", "connection", "first byte", "rest of the answer"] as const;

/** Empty without good requests. An answer that streams tokens has other phases than one that comes whole. */
export function phasesOf(table: RecordTable): Phase[] {
  const streams = table.tokens !== null && table.tokens.frames.some((frames) => frames > 0);
  const names: readonly string[] = streams ? streamed : whole;
  const rows: { total: number; parts: number[] }[] = [];
  for (let at = 0; at < table.length; at++) {
    const row = rowAt(table, at);
    if (!row.good || Number.isNaN(row.firstByte) || (streams && Number.isNaN(row.first))) continue;
    const issued = table.issuedNs[at]! / 1e6;
    const ends = streams
      ? [row.scheduled, issued, row.sent, row.firstByte, row.first, row.last, row.done]
      : [row.scheduled, issued, row.sent, row.firstByte, row.done];
    rows.push({ total: row.done - row.scheduled, parts: ends.slice(1).map((end, k) => Math.max(0, end - ends[k]!)) });
  }
  if (rows.length === 0) return [];
  const means = (some: typeof rows): number[] => names.map((_, k) => some.reduce((sum, { parts }) => sum + parts[k]!, 0) / some.length);
  const limit = percentile(Float64Array.from(rows, ({ total }) => total).sort(), 0.95)!;
  const slow = rows.filter(({ total }) => total > limit);
  const shares = (values: readonly number[]): number[] => {
    const all = values.reduce((sum, value) => sum + value, 0);
    return values.map((value) => (all === 0 ? 0 : value / all));
  };
  const mean = means(rows);
  const [ofMean, ofSlow] = [shares(mean), shares(means(slow.length > 0 ? slow : rows))];
  return names.map((phase, k) => ({ phase, meanMs: mean[k]!, shareOfMean: ofMean[k]!, shareAboveP95: ofSlow[k]! }));
}
