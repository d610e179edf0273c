/**
 * Comparing two arms that were measured side by side. The unit is the run (or block): differences of
 * logarithms are taken inside each pair, so that whatever slowed the host slowed both.
 */
import { studentCdf, studentQuantile } from "./student-t.ts";

export interface Interval {
  value: number;
  low: number;
  high: number;
}

export interface PairedRatio extends Interval {
  /** Pairs behind the interval. */
  pairs: number;
  /** Two-sided p-value of "the ratio is 1". */
  pValue: number;
  /** Standard deviation of the log ratios: the noise of one pair. */
  logSd: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean and sample standard deviation (n − 1); the deviation of one value is 0. */
export function meanAndSd(values: readonly number[]): { mean: number; sd: number } {
  const centre = mean(values);
  const sd = values.length < 2 ? 0 : Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
  return { mean: centre, sd };
}

/** Mean with its t interval; fewer than two values have no interval (±∞ is said as NaN-free null by the caller). */
export function meanInterval(values: readonly number[], confidence = 0.95): Interval | null {
  if (values.length < 2) return null;
  const { mean: centre, sd } = meanAndSd(values);
  const half = (studentQuantile(0.5 + confidence / 2, values.length - 1) * sd) / Math.sqrt(values.length);
  return { value: centre, low: centre - half, high: centre + half };
}

/**
 * Paired t on log ratios: the geometric mean of a/b with its interval. Null with fewer than two pairs
 * or with a value that is not above 0.
 * @param pairs [a, b] measured side by side
 */
export function pairedRatio(pairs: readonly (readonly [number, number])[], confidence = 0.95): PairedRatio | null {
  const logs = pairs.map(([a, b]) => Math.log(a / b));
  if (logs.length < 2 || logs.some((value) => !Number.isFinite(value))) return null;
  const { mean: centre, sd } = meanAndSd(logs);
  const error = sd / Math.sqrt(logs.length);
  const half = studentQuantile(0.5 + confidence / 2, logs.length - 1) * error;
  const pValue = error === 0 ? (centre === 0 ? 1 : 0) : 2 * (1 - studentCdf(Math.abs(centre / error), logs.length - 1));
  return { value: Math.exp(centre), low: Math.exp(centre - half), high: Math.exp(centre + half), pairs: logs.length, pValue, logSd: sd };
}

/**
 * The smallest relative difference that this many pairs could have seen: with 80 % power at 5 %,
 * (t₀.₉₇₅ + t₀.₈₀) · sd / √n in the logarithm. Null with fewer than two pairs.
 */
export function smallestVisibleRatio(logSd: number, pairs: number): number | null {
  if (pairs < 2) return null;
  const t = studentQuantile(0.975, pairs - 1) + studentQuantile(0.8, pairs - 1);
  return Math.expm1((t * logSd) / Math.sqrt(pairs));
}

/** Pairs needed to see that log difference with 80 % power at 5 %, by the normal approximation; at least 2. */
export function pairsToSee(logSd: number, logDifference: number): number {
  return Math.max(2, Math.ceil((((1.96 + 0.8416) * logSd) / Math.abs(logDifference)) ** 2));
}

/** Holm's step-down: which hypotheses fall at that family-wise level, in the order given. */
export function holm(pValues: readonly number[], level = 0.05): boolean[] {
  const order = pValues.map((p, index) => ({ p, index })).sort((a, b) => a.p - b.p);
  const rejected = pValues.map(() => false);
  for (const [rank, { p, index }] of order.entries()) {
    if (p > level / (pValues.length - rank)) break;
    rejected[index] = true;
  }
  return rejected;
}
