/** Student's t distribution, through the regularised incomplete beta function (Abramowitz and Stegun 26.5.27 and 26.7.1). */
import { regularizedBeta } from "./beta.ts";

/** P(T ≤ t) with that many degrees of freedom (> 0). */
export function studentCdf(t: number, freedom: number): number {
  const tail = 0.5 * regularizedBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
  return t > 0 ? 1 - tail : tail;
}

/** The t with P(T ≤ t) = p, by bisection to 1e-10. */
export function studentQuantile(p: number, freedom: number): number {
  if (p === 0.5) return 0;
  if (p < 0.5) return -studentQuantile(1 - p, freedom);
  let low = 0;
  let high = 1;
  while (studentCdf(high, freedom) < p) high *= 2;
  while (high - low > 1e-10 * Math.max(1, high)) {
    const middle = (low + high) / 2;
    if (studentCdf(middle, freedom) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
