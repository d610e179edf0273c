/** Histograms with fixed bounds, as monitoring systems take them. */
import type { RecordTable } from "../../../load/index.ts";
import { metricValues } from "../../../load/index.ts";

export interface Histogram {
  /** Upper bounds, ascending. */
  bounds: readonly number[];
  /** One more than the bounds: the last is what lies above them. */
  counts: number[];
  sum: number;
  count: number;
}

/** Of the requests that a metric applies to and that brought something. @param scale multiplies each value */
export function histogramOf(table: RecordTable, tag: string, bounds: readonly number[], scale: number): Histogram {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let [sum, count] = [0, 0];
  for (const raw of metricValues(table, tag)) {
    if (!Number.isFinite(raw)) continue;
    const value = raw * scale;
    const at = bounds.findIndex((bound) => value <= bound);
    counts[at < 0 ? bounds.length : at]!++;
    sum += value;
    count++;
  }
  return { bounds, counts, sum, count };
}

/** Seconds: OpenTelemetry's GenAI conventions for the duration of an operation. */
export const durationBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Seconds: for the time to the first token, and for a token. */
export const firstTokenBounds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
export const perTokenBounds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
/** Tokens. */
export const tokenBounds = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
