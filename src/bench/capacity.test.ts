import { describe, expect, it } from "vitest";
import { capacityOf, nextRate, type CapacityStep, type StepOutcome } from "./capacity.ts";

function find(start: number, outcome: (rate: number, visit: number) => StepOutcome): CapacityStep[] {
  const steps: CapacityStep[] = [];
  for (let rate = nextRate(steps, start); rate !== null && steps.length < 40; rate = nextRate(steps, start)) {
    steps.push({ ratePerSecond: rate, outcome: outcome(rate, steps.filter((step) => step.ratePerSecond === rate).length) });
  }
  return steps;
}

describe("capacity", () => {
  it.each([100, 700, 999, 1000, 1001, 1500, 4000])("brackets a true capacity of %d/s within 10 %", (truth) => {
    const steps = find(1000, (rate) => (rate <= truth ? "pass" : "fail"));
    const { lowPerSecond, highPerSecond, limit, monotone } = capacityOf(steps, 1000, false);
    expect(lowPerSecond).toBeLessThanOrEqual(truth);
    expect(highPerSecond).toBeGreaterThan(truth);
    expect(highPerSecond! / lowPerSecond).toBeCloseTo(1.1, 3);
    expect(limit).toBe("target");
    expect(monotone).toBe(true);
    expect(steps.length).toBeLessThanOrEqual(14);
  });

  it("wants every visit to pass: one failure at a rate moves the answer below it", () => {
    const steps = find(1000, (rate, visit) => (rate > 1200 || (rate === 1100 && visit === 1) ? "fail" : "pass"));
    expect(capacityOf(steps, 1000, false).lowPerSecond).toBe(1000);
  });

  it("does not let a stalled host bound the capacity from above", () => {
    const steps = find(1000, (rate) => (rate <= 1000 ? "pass" : "cannot-tell"));
    expect(capacityOf(steps, 1000, false)).toMatchObject({ lowPerSecond: 1000, highPerSecond: null, limit: "host-stalls" });
  });

  it("says 'at least' where the generator cannot send faster", () => {
    const steps = find(1000, (rate) => (rate <= 2000 ? "pass" : "invalid"));
    const found = capacityOf(steps, 1000, false);
    expect(found).toMatchObject({ highPerSecond: null, limit: "generator" });
    expect(found.lowPerSecond).toBeGreaterThan(1800);
  });

  it("says so when the budget ended first, and when no rate passes", () => {
    expect(capacityOf([{ ratePerSecond: 1000, outcome: "pass" }], 1000, true)).toMatchObject({
      lowPerSecond: 1000,
      highPerSecond: null,
      limit: "budget",
    });
    const none = find(1000, () => "fail");
    expect(capacityOf(none, 1000, false).lowPerSecond).toBe(0);
  });

  it("notices a rate that passes above one that failed", () => {
    const steps: CapacityStep[] = [
      { ratePerSecond: 1000, outcome: "pass" },
      { ratePerSecond: 1100, outcome: "fail" },
      { ratePerSecond: 1331, outcome: "pass" },
    ];
    expect(capacityOf(steps, 1000, false)).toMatchObject({ lowPerSecond: 1000, highPerSecond: 1100, monotone: false });
  });
});
