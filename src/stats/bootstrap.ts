/** Paired bootstrap of a mean difference, and the exact interval that binary scores need beside it. */
import { clopperPearson } from "./binomial.ts";
import type { RandomStream } from "../base/index.ts";
import type { Interval } from "./paired.ts";

/**
 * Percentile interval of the mean of paired differences, resampled with replacement.
 * @param differences candidate − baseline, one an item
 */
export function bootstrapMean(differences: readonly number[], stream: RandomStream, resamples = 2000, confidence = 0.95): Interval {
  const n = differences.length;
  const value = differences.reduce((sum, x) => sum + x, 0) / n;
  const distinct = new Map<number, number>();
  for (const x of differences) distinct.set(x, (distinct.get(x) ?? 0) + 1);
  if (distinct.size === 1) return { value, low: value, high: value };
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[stream.below(n)]!;
    return sum / n;
  }).sort((a, b) => a - b);
  const tail = (1 - confidence) / 2;
  return { value, low: means[Math.floor(tail * resamples)]!, high: means[Math.min(resamples - 1, Math.ceil((1 - tail) * resamples) - 1)]! };
}

/**
 * Interval of the difference of two proportions measured on the same items: the discordant pairs that
 * speak for and against the candidate each get an exact (Clopper–Pearson) bound, one-sided 95 %, and
 * the two are subtracted. Exact where only one kind occurs, conservative where both do (the two
 * bounds rarely err together); with no discordant pair among 2,000 it still allows 0.15 %.
 * @param better items right only under the candidate
 * @param worse items right only under the baseline
 */
export function pairedProportions(better: number, worse: number, items: number): Interval {
  const nothing: Interval = { value: 0, low: 0, high: 1 };
  const up = clopperPearson(better, items, 0.9) ?? nothing;
  const down = clopperPearson(worse, items, 0.9) ?? nothing;
  return { value: items === 0 ? 0 : (better - worse) / items, low: up.low - down.high, high: up.high - down.low };
}

/** The least drop that so many right-or-wrong items can exclude: not one of them differs. */
export const excludableDrop = (items: number): number => -pairedProportions(0, 0, items).low;
