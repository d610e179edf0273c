/** Histogram of a tensor's values → the range that is quantised: its ends, the bulk of its values, or the cut that loses least information. */

export type Range = readonly [low: number, high: number];

/** Counts of values in equal bins from low to high. */
export interface Histogram {
  range: Range;
  counts: Float64Array;
}

export const bins = 2048;
/** Share of the values that the percentile range keeps. */
const kept = 0.9999;
/** Steps to one side of 0 that an int8 has. */
const levels = 128;

export const createHistogram = (range: Range): Histogram => ({ range, counts: new Float64Array(bins) });

export function addTo({ range: [low, high], counts }: Histogram, values: ArrayLike<number>): void {
  const width = (high - low) / bins;
  for (let i = 0; i < values.length; i++) {
    const bin = width > 0 ? Math.floor((values[i]! - low) / width) : 0;
    counts[Math.max(0, Math.min(bins - 1, bin))]!++;
  }
}

/** The range that leaves half of the rest out at either end. */
export function percentileRange({ range: [low, high], counts }: Histogram): Range {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const width = (high - low) / bins;
  const most = ((1 - kept) / 2) * total;
  let [from, left] = [0, counts[0]!];
  while (left <= most && from < bins - 1) left += counts[++from]!;
  let [to, right] = [bins - 1, counts[bins - 1]!];
  while (right <= most && to > from) right += counts[--to]!;
  return [low + from * width, low + (to + 1) * width];
}

/** Divergence of the coarse distribution from the fine one, nats; Infinity where it has nothing and the fine one something. */
function divergence(fine: Float64Array, coarse: Float64Array): number {
  const [all, some] = [fine.reduce((a, b) => a + b, 0), coarse.reduce((a, b) => a + b, 0)];
  let sum = 0;
  for (let i = 0; i < fine.length; i++) {
    if (fine[i] === 0) continue;
    if (coarse[i] === 0) return Number.POSITIVE_INFINITY;
    const p = fine[i]! / all;
    sum += p * Math.log(p / (coarse[i]! / some));
  }
  return sum;
}

/** `fine` in as many steps as an int8 has, spread again over the bins that hold something. */
function coarsened(fine: Float64Array): Float64Array {
  const coarse = new Float64Array(fine.length);
  for (let level = 0; level < levels; level++) {
    const from = Math.floor((level * fine.length) / levels);
    const to = Math.floor(((level + 1) * fine.length) / levels);
    let [sum, filled] = [0, 0];
    for (let i = from; i < to; i++) {
      sum += fine[i]!;
      if (fine[i]! > 0) filled++;
    }
    for (let i = from; i < to; i++) if (fine[i]! > 0) coarse[i] = sum / filled;
  }
  return coarse;
}

/**
 * The cut of the magnitudes whose int8 steps tell the distribution best: least Kullback-Leibler
 * divergence, values beyond the cut counted at it (Migacz, "8-bit inference with TensorRT", 2017).
 */
export function entropyRange({ range: [low, high], counts }: Histogram): Range {
  const reach = Math.max(Math.abs(low), Math.abs(high));
  if (reach === 0) return [low, high];
  const width = (high - low) / bins;
  const magnitudes = new Float64Array(bins);
  for (let i = 0; i < bins; i++) {
    const middle = Math.abs(low + (i + 0.5) * width);
    magnitudes[Math.min(bins - 1, Math.floor((middle / reach) * bins))]! += counts[i]!;
  }
  // Zeros, of which a Relu makes many, are exact in every range and must not outweigh the rest.
  magnitudes[0] = magnitudes[1]!;
  let [best, cut] = [Number.POSITIVE_INFINITY, bins];
  for (let size = levels; size <= bins; size += 8) {
    const inside = magnitudes.slice(0, size);
    const coarse = coarsened(inside);
    const beyond = magnitudes.subarray(size).reduce((a, b) => a + b, 0);
    const fine = inside.slice();
    fine[size - 1]! += beyond;
    const found = divergence(fine, coarse);
    if (found < best) [best, cut] = [found, size];
  }
  const limit = (cut / bins) * reach;
  return [Math.max(low, -limit), Math.min(high, limit)];
}
