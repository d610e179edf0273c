import { describe, expect, it } from "vitest";
import { binomialCdf, clopperPearson, wilsonInterval } from "./binomial.ts";
import { normalCdf, normalQuantile } from "./normal.ts";
import { certifiedRank, certifiedUpperBound, percentile, percentileInterval, percentileRanks, sampleFloor } from "./quantile.ts";

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe("percentiles", () => {
  it("are values that were seen: the inverse of the empirical distribution", () => {
    expect(percentile(upTo(100), 0.99)).toBe(99);
    expect(percentile(upTo(100), 0.07)).toBe(7); // 100 · 0.07 is 7.000000000000001
    expect(percentile(upTo(1000), 0.999)).toBe(999);
    expect(percentile([1, 2, 3, 4], 0.5)).toBe(2);
    expect(percentile([7], 0.99)).toBe(7);
    expect(percentile([], 0.5)).toBeNull();
  });
  it("keep what never arrived as infinitely late", () => {
    expect(percentile([1, 2, 3, Infinity], 0.75)).toBe(3);
    expect(percentile([1, 2, 3, Infinity], 0.76)).toBe(Infinity);
  });
  it("have the exact interval of n = 1000, p99: ranks 983 to 997, covered 97.6 %", () => {
    const ranks = percentileRanks(1000, 0.99, 0.95);
    expect(ranks).toMatchObject({ low: 983, high: 997 });
    expect(ranks.coverage).toBeCloseTo(0.976, 3);
    expect(percentileInterval(upTo(1000), 0.99)).toEqual({ value: 990, low: 983, high: 997 });
  });
  it("have the published median interval of twenty values: ranks 6 to 15, covered 95.86 %", () => {
    const ranks = percentileRanks(20, 0.5, 0.95);
    expect(ranks).toMatchObject({ low: 6, high: 15 });
    expect(ranks.coverage).toBeCloseTo(0.9586, 4);
  });
  it("say that a small sample bounds no p99 from above", () => {
    expect(percentileRanks(100, 0.99)).toMatchObject({ high: null });
    expect(percentileInterval([5], 0.5)).toEqual({ value: 5, low: null, high: null });
  });
});

describe("the certified upper bound", () => {
  it("is the 2nd, 3rd, 10th and 78th largest of 662, 1,000, 2,000 and 10,000 values for p99", () => {
    expect([662, 1000, 2000, 10_000].map((n) => certifiedRank(n, 0.99))).toEqual([2, 3, 10, 78]);
    expect(certifiedUpperBound(upTo(662), 0.99)).toBe(661);
  });
  it("is null below the sample floor, never a guess", () => {
    expect(certifiedUpperBound(upTo(100), 0.99)).toBeNull();
    expect(certifiedUpperBound(upTo(661), 0.99)).toBeNull();
  });
  it("has the floors 64, 130, 662 and 6,636", () => {
    expect([0.9, 0.95, 0.99, 0.999].map((p) => sampleFloor(p))).toEqual([64, 130, 662, 6636]);
  });
});

describe("the binomial distribution", () => {
  it("gives the values of the tables", () => {
    expect(binomialCdf(2, 5, 0.5)).toBeCloseTo(0.5, 12);
    expect(binomialCdf(3, 10, 0.3)).toBeCloseTo(0.6496, 4);
    expect(binomialCdf(0, 20, 0.1)).toBeCloseTo(0.9 ** 20, 12);
    expect(binomialCdf(-1, 5, 0.5)).toBe(0);
    expect(binomialCdf(5, 5, 0.5)).toBe(1);
  });
});

describe("intervals of a share", () => {
  it("are Wilson's as published: 81 of 263 is 0.2553 to 0.3662", () => {
    const found = wilsonInterval(81, 263)!;
    expect(found.low).toBeCloseTo(0.2553, 4);
    expect(found.high).toBeCloseTo(0.3662, 4);
  });
  it("are Clopper and Pearson's as published: 81 of 263 is 0.2527 to 0.3676, 0 of 20 is 0 to 0.1684", () => {
    const found = clopperPearson(81, 263)!;
    expect(found.low).toBeCloseTo(0.2527, 4);
    expect(found.high).toBeCloseTo(0.3676, 4);
    expect(clopperPearson(0, 20)!.low).toBe(0);
    expect(clopperPearson(0, 20)!.high).toBeCloseTo(0.16843, 5);
  });
  it("end at 0 and 1 and do not exist without trials", () => {
    expect(wilsonInterval(0, 10)!.low).toBe(0);
    expect(wilsonInterval(10, 10)!.high).toBe(1);
    expect(clopperPearson(10, 10)!.high).toBe(1);
    expect(wilsonInterval(0, 0)).toBeNull();
    expect(clopperPearson(0, 0)).toBeNull();
  });
});

describe("the normal distribution", () => {
  it("gives the values of the tables", () => {
    expect(normalCdf(1.96)).toBeCloseTo(0.9750021, 7);
    expect(normalCdf(-3)).toBeCloseTo(0.0013499, 7);
    expect(normalCdf(4)).toBeCloseTo(0.99996833, 8);
    expect(normalQuantile(0.975)).toBeCloseTo(1.959963985, 8);
    expect(normalQuantile(0.99)).toBeCloseTo(2.326347874, 8);
  });
});
