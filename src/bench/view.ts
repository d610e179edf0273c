/**
 * A run as the verdict sees it: the journal's steps, and each visit reduced from its request records.
 * Everything here can be computed again from the files.
 */
import type { AccuracyRecord, BuildRecord, EndRecord, RunRecord, Scores, ScreeningRecord, VisitRecord } from "./evidence.ts";

/** Mean milliseconds of a request in each stage. */
export interface StageTimes {
  client: number;
  network: number;
  queue: number;
  compute: number;
}

export interface VisitView {
  record: VisitRecord;
  /** Requests scheduled in the steady window. */
  scheduled: number;
  ledger: Readonly<Record<string, number>>;
  /** Answered rightly, within the limit or not. */
  succeeded: number;
  /** From schedule to last byte, every scheduled request, milliseconds, ascending; a timeout counts as its limit. */
  latencyMs: Float64Array;
  /** The same without requests whose life a host stall overlaps. */
  calmLatencyMs: Float64Array;
  /** Mean stages over successes, and over those above the 95th percentile; null when the server told no times. */
  stages: { mean: StageTimes; above95: StageTimes } | null;
  /** Growth of latency over the window, milliseconds per millisecond: how far the offered rate exceeds the served. */
  drift: number;
  valid: boolean;
  reasons: readonly string[];
  /** Host stalls touched it: it may certify that a target is met, nothing else. */
  tainted: boolean;
  lagP99Ms: number;
  stalls: number;
  stolenRatio: number | null;
}

export interface AccuracyView {
  record: AccuracyRecord;
  scores: Scores;
}

export interface Evidence {
  run: RunRecord;
  builds: readonly BuildRecord[];
  screening: ScreeningRecord | null;
  accuracies: readonly AccuracyView[];
  /** Where the search for each candidate's capacity started, requests per second. */
  probes: ReadonlyMap<string, number>;
  visits: readonly VisitView[];
  ends: readonly EndRecord[];
}
