/** How far two sets of answers lie apart, number by number: what a task's metric cannot show, such as a scale that is off. */
import { percentile } from "./quantile.ts";

/** A figure at the sample where it is worst. */
export interface Worst {
  value: number;
  /** Place of the sample. */
  at: number;
}

export interface Closeness {
  /** Samples compared. */
  samples: number;
  /** Cosine of the angle between the two answers, −1 to 1; two answers of zeros have 1, one of zeros beside another has 0. */
  cosine: Worst;
  /** Length of the difference ÷ length of the reference; Infinity where only the reference is zero. */
  relativeL2: Worst;
  /** Largest difference of one number, in the output's own unit. */
  maxAbs: Worst;
  /** 99.9th percentile of the differences of single numbers, over all samples. */
  p999Abs: number;
}

type Numbers = ArrayLike<number>;

/**
 * Compares answers sample by sample. Null when there is none to compare.
 * @param pairs [reference, other] of one sample each, of equal length; numbers that are not finite count as infinitely far
 */
export function closeness(pairs: readonly (readonly [Numbers, Numbers])[]): Closeness | null {
  const cosine: Worst = { value: Number.POSITIVE_INFINITY, at: 0 };
  const relativeL2: Worst = { value: -1, at: 0 };
  const maxAbs: Worst = { value: -1, at: 0 };
  const differences = new Float64Array(pairs.reduce((sum, [reference]) => sum + reference.length, 0));
  if (differences.length === 0) return null;
  let filled = 0;
  for (const [at, [reference, other]] of pairs.entries()) {
    let [dot, itsSquare, ownSquare, farSquare, far] = [0, 0, 0, 0, 0];
    for (let i = 0; i < reference.length; i++) {
      const [a, b] = [reference[i]!, other[i]!];
      const difference = Number.isFinite(b) || !Number.isFinite(a) ? Math.abs(a - b) : Number.POSITIVE_INFINITY;
      // Where the reference is not finite itself, nothing can be asked of the other.
      const counted = Number.isFinite(a) ? difference : 0;
      differences[filled++] = counted;
      if (!Number.isFinite(a)) continue;
      dot += a * b;
      itsSquare += a * a;
      ownSquare += b * b;
      farSquare += counted * counted;
      far = Math.max(far, counted);
    }
    const lengths = Math.sqrt(itsSquare) * Math.sqrt(ownSquare);
    const cos = itsSquare === 0 && ownSquare === 0 ? 1 : lengths > 0 && Number.isFinite(lengths) ? dot / lengths : 0;
    const relative = farSquare === 0 ? 0 : itsSquare === 0 ? Number.POSITIVE_INFINITY : Math.sqrt(farSquare / itsSquare);
    if (cos < cosine.value) Object.assign(cosine, { value: Math.max(-1, Math.min(1, cos)), at });
    if (relative > relativeL2.value) Object.assign(relativeL2, { value: relative, at });
    if (far > maxAbs.value) Object.assign(maxAbs, { value: far, at });
  }
  return { samples: pairs.length, cosine, relativeL2, maxAbs, p999Abs: percentile(differences.sort(), 0.999)! };
}
