/**
 * Percentiles without assumptions about the shape: the inverse of the empirical distribution (type 1),
 * its exact interval from order statistics, and the upper bound that a sample can certify.
 */
import { binomialCdf } from "./binomial.ts";

/** The rank of percentile p among n values, from 1: ⌈n · p⌉, with the rounding of n · p forgiven. */
function rankOf(n: number, p: number): number {
  return Math.min(n, Math.max(1, Math.ceil(n * p - 1e-9)));
}

/**
 * Percentile p (0–1) as the inverse of the empirical distribution: the smallest value with at least
 * p · n values at or below it. Null without values.
 * @param sorted ascending; may end in Infinity for what never arrived
 */
export function percentile(sorted: ArrayLike<number>, p: number): number | null {
  return sorted.length === 0 ? null : sorted[rankOf(sorted.length, p) - 1]!;
}

export interface RankInterval {
  /** Ranks from 1; null where the sample is too small for that side. */
  low: number | null;
  high: number | null;
  /** P(low ≤ Bin(n, p) < high): the true coverage. */
  coverage: number;
}

/**
 * The ranks that bound percentile p of n values, equal-tailed: low is the largest with
 * P(B ≤ low − 1) ≤ α/2 and high the smallest with P(B ≥ high) ≤ α/2, B ~ Bin(n, p).
 */
export function percentileRanks(n: number, p: number, confidence = 0.95): RankInterval {
  const tail = (1 - confidence) / 2;
  const below = (rank: number): number => binomialCdf(rank - 1, n, p);
  // Both are monotone in the rank, so each is found by halving.
  const last = (holds: (rank: number) => boolean): number => {
    let [yes, no] = [0, n + 1];
    while (no - yes > 1) {
      const middle = (yes + no) >> 1;
      if (holds(middle)) yes = middle;
      else no = middle;
    }
    return yes;
  };
  const low = last((rank) => below(rank) <= tail);
  const high = last((rank) => 1 - below(rank) > tail) + 1;
  return {
    low: low < 1 ? null : low,
    high: high > n ? null : high,
    coverage: (high > n ? 1 : below(high)) - (low < 1 ? 0 : below(low)),
  };
}

export interface PercentileInterval {
  value: number;
  /** Null where the sample cannot bound that side. */
  low: number | null;
  high: number | null;
}

/** Percentile p of ascending values with its exact interval; null without values. */
export function percentileInterval(sorted: ArrayLike<number>, p: number, confidence = 0.95): PercentileInterval | null {
  const value = percentile(sorted, p);
  if (value === null) return null;
  const ranks = percentileRanks(sorted.length, p, confidence);
  return {
    value,
    low: ranks.low === null ? null : sorted[ranks.low - 1]!,
    high: ranks.high === null ? null : sorted[ranks.high - 1]!,
  };
}

/**
 * Which of the largest values certifies percentile p: the r-th largest, r the largest with
 * P(Bin(n, 1 − p) ≤ r − 1) ≤ 1 − confidence. Null below the sample floor, where r would be 1 or none.
 */
export function certifiedRank(n: number, p: number, confidence = 0.99): number | null {
  let [yes, no] = [0, n + 1];
  while (no - yes > 1) {
    const middle = (yes + no) >> 1;
    if (binomialCdf(middle - 1, n, 1 - p) <= 1 - confidence) yes = middle;
    else no = middle;
  }
  return yes >= 2 ? yes : null;
}

/** The upper bound of percentile p that these values certify; null when they are too few. */
export function certifiedUpperBound(sorted: ArrayLike<number>, p: number, confidence = 0.99): number | null {
  const rank = certifiedRank(sorted.length, p, confidence);
  return rank === null ? null : sorted[sorted.length - rank]!;
}

/** The fewest values with which an upper bound of percentile p can be certified: 64 for p90, 662 for p99. */
export function sampleFloor(p: number, confidence = 0.99): number {
  let [few, enough] = [1, 2];
  while (certifiedRank(enough, p, confidence) === null) [few, enough] = [enough, enough * 2];
  while (enough - few > 1) {
    const middle = (few + enough) >> 1;
    if (certifiedRank(middle, p, confidence) === null) few = middle;
    else enough = middle;
  }
  return enough;
}

const curvePercents = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 93, 95, 96, 97, 98, 98.5, 99, 99.3, 99.5, 99.7, 99.9];

/** [percent, value] of a distribution for drawing, denser towards the tail; empty without values. @param sorted ascending */
export const percentileCurve = (sorted: ArrayLike<number>): [percent: number, value: number][] =>
  sorted.length === 0 ? [] : curvePercents.map((percent) => [percent, percentile(sorted, percent / 100)!]);
