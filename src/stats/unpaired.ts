/** Comparing two arms whose runs were not made side by side: Welch's t on the logarithms. The unit is the run. */
import { meanAndSd, type Interval } from "./paired.ts";
import { studentCdf, studentQuantile } from "./student-t.ts";

export interface UnpairedRatio extends Interval {
  /** Two-sided p-value of "the ratio is 1". */
  pValue: number;
  /** Welch's degrees of freedom. */
  freedom: number;
  /** The smallest relative difference that so many runs could have seen: 80 % power at 5 %. */
  visible: number;
}

/** Geometric mean of `a` ÷ that of `b` with its interval. Null with fewer than two values on a side, or one that is not above 0. */
export function unpairedRatio(a: readonly number[], b: readonly number[], confidence = 0.95): UnpairedRatio | null {
  const [x, y] = [a, b].map((values) => values.map(Math.log)) as [number[], number[]];
  if (x.length < 2 || y.length < 2 || [...x, ...y].some((value) => !Number.isFinite(value))) return null;
  const [first, second] = [meanAndSd(x), meanAndSd(y)];
  const [va, vb] = [first.sd ** 2 / x.length, second.sd ** 2 / y.length];
  const error = Math.sqrt(va + vb);
  const centre = first.mean - second.mean;
  const freedom = error === 0 ? x.length + y.length - 2 : (va + vb) ** 2 / (va ** 2 / (x.length - 1) + vb ** 2 / (y.length - 1));
  const half = studentQuantile(0.5 + confidence / 2, freedom) * error;
  const pValue = error === 0 ? (centre === 0 ? 1 : 0) : 2 * (1 - studentCdf(Math.abs(centre / error), freedom));
  const visible = Math.expm1((studentQuantile(0.975, freedom) + studentQuantile(0.8, freedom)) * error);
  return { value: Math.exp(centre), low: Math.exp(centre - half), high: Math.exp(centre + half), pValue, freedom, visible };
}
