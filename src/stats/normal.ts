/** The standard normal distribution, through the incomplete gamma function's series and continued fraction. */

/** erfc(x) for x ≥ 0: the series of erf below 2.5, Laplace's continued fraction above. */
function upperErf(x: number): number {
  if (x < 2.5) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
      if (n > 500) break;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let fraction = 0;
  for (let n = 80; n >= 1; n--) fraction = n / 2 / (x + fraction);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
}

/** P(Z ≤ z). */
export function normalCdf(z: number): number {
  const tail = upperErf(Math.abs(z) / Math.SQRT2) / 2;
  return z > 0 ? 1 - tail : tail;
}

/** The z with P(Z ≤ z) = p, 0 < p < 1, by bisection to 1e-12. */
export function normalQuantile(p: number): number {
  let [low, high] = [-40, 40];
  while (high - low > 1e-12) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
