/** Gaps between token-bearing events of all requests together, counted in buckets 0.54 % wide, so that any number of them fits. */

/** Zero gaps, and [bucket, count] of the others, ascending. */
export interface GapCounts {
  zero: number;
  counts: [number, number][];
}

const bucketsPerOctave = 128;
/** Bucket 0 begins at this length. */
const leastMs = 0.001;

export interface GapHistogram {
  add(ms: number): void;
  counts(): GapCounts;
}

export function createGapHistogram(): GapHistogram {
  let zero = 0;
  const buckets = new Map<number, number>();
  return {
    add(ms) {
      if (ms < leastMs) return void zero++;
      const bucket = Math.floor(Math.log2(ms / leastMs) * bucketsPerOctave);
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
    },
    counts: () => ({ zero, counts: [...buckets].sort((a, b) => a[0] - b[0]) }),
  };
}

/** Percentile p (0–1) of the gaps, milliseconds: the middle of its bucket; null without gaps. */
export function gapPercentile({ zero, counts }: GapCounts, p: number): number | null {
  const total = counts.reduce((sum, [, count]) => sum + count, zero);
  if (total === 0) return null;
  let left = Math.max(1, Math.ceil(total * p - 1e-9)) - zero;
  if (left <= 0) return 0;
  for (const [bucket, count] of counts) {
    left -= count;
    if (left <= 0) return leastMs * 2 ** ((bucket + 0.5) / bucketsPerOctave);
  }
  return null;
}
