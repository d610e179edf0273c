import { describe, expect, it } from "vitest";
import { logGamma, regularizedBeta } from "./beta.ts";
import { normalQuantile } from "./normal.ts";
import { holm, meanAndSd, meanInterval, pairedRatio, pairsToSee, smallestVisibleRatio } from "./paired.ts";
import { studentCdf, studentQuantile } from "./student-t.ts";

describe("the incomplete beta function", () => {
  it("gives the values of the tables", () => {
    expect(logGamma(10)).toBeCloseTo(Math.log(362_880), 10);
    expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.sqrt(Math.PI)), 12);
    expect(regularizedBeta(0.5, 2, 3)).toBeCloseTo(0.6875, 12);
    expect(regularizedBeta(0.2, 1, 5)).toBeCloseTo(1 - 0.8 ** 5, 12);
  });
});

describe("Student's t", () => {
  it("gives the published quantiles", () => {
    expect(studentQuantile(0.975, 4)).toBeCloseTo(2.776445, 5);
    expect(studentQuantile(0.975, 1)).toBeCloseTo(12.7062, 3);
    expect(studentQuantile(0.95, 30)).toBeCloseTo(1.697261, 5);
    expect(studentQuantile(0.025, 4)).toBeCloseTo(-2.776445, 5);
    expect(studentCdf(2.776445, 4)).toBeCloseTo(0.975, 6);
  });
});

describe("paired ratios", () => {
  it("find what the pair shares to be no difference", () => {
    const slow = [1, 4, 2, 8, 3];
    expect(pairedRatio(slow.map((x) => [x, x] as const))).toMatchObject({ value: 1, low: 1, high: 1, pValue: 1 });
  });
  it("agree with a t test worked by hand on the logarithms", () => {
    // ln ratios: 0.1, 0.2, 0.3 → mean 0.2, sd 0.1, t₀.₉₇₅(2) = 4.302653, half = 0.248414
    const pairs = [0.1, 0.2, 0.3].map((x) => [Math.exp(x), 1] as const);
    const found = pairedRatio(pairs)!;
    expect(Math.log(found.value)).toBeCloseTo(0.2, 12);
    expect(Math.log(found.low)).toBeCloseTo(0.2 - 0.248414, 5);
    expect(Math.log(found.high)).toBeCloseTo(0.2 + 0.248414, 5);
    expect(found.pValue).toBeCloseTo(0.0742, 4); // t = 3.4641 with 2 degrees of freedom
  });
  it("are null where they cannot be formed", () => {
    expect(pairedRatio([[1, 2]])).toBeNull();
    expect(
      pairedRatio([
        [0, 1],
        [1, 1],
      ]),
    ).toBeNull();
  });
  it("find no gain in 9.95 against 10.00 ms (sd 0.30, n = 20), and one in 9.00 (sd 0.05)", () => {
    // Exactly those means and deviations, from the quantiles of the normal; what is paired is in no order.
    const values = (mean: number, sd: number, stride: number): number[] => {
      const raw = Array.from({ length: 20 }, (_, i) => normalQuantile((((i * stride) % 20) + 0.5) / 20));
      const found = meanAndSd(raw);
      return raw.map((value) => mean + (sd * (value - found.mean)) / found.sd);
    };
    const reference = values(10, 0.3, 1);
    const against = (mean: number, sd: number) => pairedRatio(values(mean, sd, 7).map((value, i) => [value, reference[i]!] as const))!;
    const [none, gain] = [against(9.95, 0.3), against(9, 0.05)];
    expect(none.low).toBeLessThan(1);
    expect(none.high).toBeGreaterThan(1);
    expect(gain.high).toBeLessThan(0.93);
    expect(holm([none.pValue, gain.pValue])).toEqual([false, true]);
  });
  it("say how small a difference they could have seen", () => {
    // 12 pairs at 10 %: (2.200985 + 0.875530) · 0.1 / √12 = 0.088811
    expect(smallestVisibleRatio(0.1, 12)).toBeCloseTo(Math.expm1(0.088811), 4);
    expect(pairsToSee(0.1, 0.05)).toBe(32);
  });
});

describe("mean intervals", () => {
  it("need two values", () => {
    expect(meanInterval([1])).toBeNull();
    expect(meanInterval([1, 3])!.high).toBeCloseTo(2 + 12.7062, 3);
  });
});

describe("Holm", () => {
  it("rejects step by step and stops at the first that stands", () => {
    expect(holm([0.01, 0.04, 0.03, 0.005])).toEqual([true, false, false, true]);
  });
});
