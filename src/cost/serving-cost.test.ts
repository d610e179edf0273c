import { describe, expect, it } from "vitest";
import { peakWhereCheaper, servingCost } from "./index.ts";

describe("the cost of serving", () => {
  it("pays for whole replicas at the peak and divides by the good requests of the mean", () => {
    // 600/s at 100/s a replica with a fifth in reserve: ⌈600 / 80⌉ = 8 replicas, 0.80 USD an hour;
    // mean 240/s, 99 % good: 855,360 an hour → 0.9353 USD a million
    const cost = servingCost({ peakPerSecond: 600, meanToPeakRatio: 0.4, goodRatio: 0.99 }, 100, 0.1)!;
    expect(cost.replicas).toBe(8);
    expect(cost.perMillionGoodUsd).toBeCloseTo(0.93528, 4);
  });
  it("pays for one busy replica where no rate is stated", () => {
    expect(servingCost({ peakPerSecond: null, meanToPeakRatio: 1, goodRatio: 1 }, 1000, 3.6)).toEqual({
      replicas: 1,
      perMillionGoodUsd: 1,
    });
  });
  it("knows no cost without a capacity or a good request", () => {
    expect(servingCost({ peakPerSecond: 1, meanToPeakRatio: 1, goodRatio: 1 }, 0, 1)).toBeNull();
    expect(servingCost({ peakPerSecond: 1, meanToPeakRatio: 1, goodRatio: 0 }, 10, 1)).toBeNull();
  });
  it("says from which peak the other needs one replica more", () => {
    expect(peakWhereCheaper(2000, 1000)).toBe(800);
    expect(peakWhereCheaper(1000, 1000)).toBeNull();
  });
});
