/** Counts of yes and no: the binomial distribution and the two intervals of a share that reports print. */
import { regularizedBeta } from "./beta.ts";
import type { Interval } from "./paired.ts";
import { normalQuantile } from "./normal.ts";

/** P(X ≤ k) for X ~ Bin(n, p), by the incomplete beta function: I₁₋ₚ(n − k, k + 1). */
export function binomialCdf(k: number, n: number, p: number): number {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return regularizedBeta(1 - p, n - Math.floor(k), Math.floor(k) + 1);
}

/** Wilson's score interval (1927) of a share: near its nominal coverage, also at few trials. Null without trials. */
export function wilsonInterval(successes: number, trials: number, confidence = 0.95): Interval | null {
  if (trials < 1) return null;
  const z2 = normalQuantile(0.5 + confidence / 2) ** 2;
  const share = successes / trials;
  const centre = (share + z2 / (2 * trials)) / (1 + z2 / trials);
  const half = Math.sqrt((share * (1 - share) + z2 / (4 * trials)) * (z2 / trials)) / (1 + z2 / trials);
  return {
    value: share,
    low: successes === 0 ? 0 : Math.max(0, centre - half),
    high: successes === trials ? 1 : Math.min(1, centre + half),
  };
}

/** The share at which `tail(share)`, which falls from 1 to 0 or rises from 0 to 1, passes `level`. */
function shareAt(level: number, tail: (share: number) => number): number {
  let [low, high] = [0, 1];
  const rising = tail(1) > tail(0);
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (tail(middle) < level === rising) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Clopper and Pearson's exact interval (1934) of a share: never less than its nominal coverage. Null without trials. */
export function clopperPearson(successes: number, trials: number, confidence = 0.95): Interval | null {
  if (trials < 1) return null;
  const tail = (1 - confidence) / 2;
  return {
    value: successes / trials,
    low: successes === 0 ? 0 : shareAt(tail, (share) => 1 - binomialCdf(successes - 1, trials, share)),
    high: successes === trials ? 1 : shareAt(tail, (share) => binomialCdf(successes, trials, share)),
  };
}
