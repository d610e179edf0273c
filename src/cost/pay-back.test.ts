import { describe, expect, it } from "vitest";
import { payBack } from "./index.ts";

describe("pay-back", () => {
  // 4 GPU hours at 3.00 = 12.00; a bound of 0.000002 a request → 6,000,000 requests.
  const facts = { tuningUsd: 12, savedPerRequestUsd: 0.000002, lifetimeDays: 90 };
  it("does not come in 90 days of 50,000 requests, and comes on day 60 with 100,000", () => {
    const slow = payBack({ ...facts, requestsPerDay: 50_000 });
    expect(slow.requests).toBeCloseTo(6_000_000, 3);
    expect(slow.day).toBeNull();
    expect(payBack({ ...facts, requestsPerDay: 100_000 }).day).toBe(60);
  });
  it("never comes when nothing is saved for certain", () => {
    for (const savedPerRequestUsd of [0, -0.001])
      expect(payBack({ ...facts, savedPerRequestUsd, requestsPerDay: 1e9 })).toEqual({ requests: null, day: null });
  });
});
