import { describe, expect, it } from "vitest";
import type { AccuracyView, RunRecord, VisitView } from "../bench/index.ts";
import { judgeAccuracy, type AccuracyTargets } from "./accuracy.ts";
import { answerOf, proposal, type Judged } from "./answer.ts";
import { costOf } from "./figures.ts";
import { payBackOf } from "./pay-back.ts";
import { judgeRate, judgeStep, requestsNeeded, type Targets } from "./targets.ts";
import type { Workload } from "../workload/index.ts";
import type { CandidateVerdict, Gate } from "./verdict.ts";

const targets: Targets = { latency: [[99, 100]], successRatio: 0.995, threads: 1 };

/** A visit of those latencies, all good unless said. */
function visit(latencies: number[], more: Partial<VisitView> & { calm?: number[]; cpuSeconds?: number } = {}): VisitView {
  const sorted = Float64Array.from(latencies).sort();
  return {
    record: {
      id: "a",
      purpose: "rate",
      block: 0,
      ratePerSecond: 600,
      seed: "s",
      latencyLimitMs: 100,
      artifactDigest: "d",
      records: "r",
      context: { windowMs: 1000 },
      cpuSeconds: more.cpuSeconds ?? 0.5,
      wallSeconds: 1,
      peakBytes: 1,
      warmUpMs: 0,
    },
    scheduled: latencies.length,
    succeeded: latencies.length,
    ledger: {} as VisitView["ledger"],
    latencyMs: sorted,
    calmLatencyMs: Float64Array.from(more.calm ?? latencies).sort(),
    stages: null,
    drift: 0,
    valid: true,
    reasons: [],
    tainted: false,
    lagP99Ms: 0,
    stalls: 0,
    stolenRatio: null,
    offeredPerSecond: 600,
    achievedPerSecond: 600,
    ...more,
  };
}
const mix = (n: number, slow: number, ms = 500): number[] => Array.from({ length: n }, (_, i) => (i < slow ? ms : 5));

describe("what a visit proves", () => {
  it("a percentile is met only when the sample certifies it: the 3rd largest of 1,000", () => {
    expect(judgeRate([visit(mix(1000, 2))], targets).outcome).toBe("pass");
    expect(judgeRate([visit(mix(1000, 3))], targets).outcome).toBe("cannot-tell");
    expect(judgeRate([visit(mix(1000, 40))], targets).outcome).toBe("fail");
  });
  it("too few requests certify nothing, and pooling helps", () => {
    const few = judgeRate([visit(mix(600, 0))], targets);
    expect(few.outcome).toBe("cannot-tell");
    expect(few.reasons[0]).toMatch(/600 requests are too few to certify p99/);
    expect(judgeRate([visit(mix(600, 0)), visit(mix(600, 0))], targets).outcome).toBe("pass");
  });
  it("a miss that vanishes without stalled requests is none; one that stays is", () => {
    expect(judgeRate([visit(mix(1000, 40), { calm: mix(960, 0) })], targets)).toMatchObject({
      outcome: "cannot-tell",
      reasons: [expect.stringMatching(/host stalls/) as string],
    });
    expect(judgeRate([visit(mix(1000, 40), { calm: mix(900, 38) })], targets).outcome).toBe("fail");
    expect(judgeRate([visit(mix(1000, 40), { calm: mix(200, 10) })], targets).outcome).toBe("cannot-tell");
  });
  it("the success ratio is judged by Wilson's interval", () => {
    expect(judgeRate([visit(mix(2000, 0), { succeeded: 1999 })], targets).outcome).toBe("pass");
    expect(judgeRate([visit(mix(2000, 0), { succeeded: 1990 })], targets).outcome).toBe("cannot-tell");
    expect(judgeRate([visit(mix(2000, 0), { succeeded: 1950 })], targets).outcome).toBe("fail");
  });
  it("asks for as many requests as the strictest target needs: 662 for a p99, 765 for 99.5 %, 6,636 for a p99.9", () => {
    const needed = (more: object): number => requestsNeeded({ targets: more } as Workload) / 1.15;
    expect(needed({ latencyMs: { p99: 1 } })).toBeCloseTo(662, -1);
    expect(needed({ latencyMs: { p99: 1 }, successRatio: 0.995 })).toBeCloseTo(765, -1);
    expect(needed({ latencyMs: { "p99.9": 1 } })).toBeCloseTo(6636, -1);
    const all = visit(mix(765, 0));
    expect(judgeRate([all], targets).outcome).toBe("pass");
  });
  it("an invalid visit and one that used more cores than it may are not used", () => {
    expect(judgeStep(visit(mix(1000, 0), { valid: false, reasons: ["late"] }), targets).outcome).toBe("invalid");
    expect(judgeStep(visit(mix(1000, 0), { cpuSeconds: 1.5 }), targets)).toMatchObject({
      outcome: "invalid",
      reasons: [expect.stringMatching(/1\.5 cores/) as string],
    });
    expect(judgeRate([visit(mix(1000, 0), { valid: false, reasons: ["late"] })], targets).reasons[0]).toMatch(/no valid run: late/);
  });
  it("latency that grows is a rate that is not sustained", () => {
    expect(judgeStep(visit(mix(1000, 0), { drift: 0.1 }), targets).outcome).toBe("fail");
  });
});

const run = { rootSeed: "1", metric: { name: "top1", betterIs: "higher", binary: true }, candidates: [] } as unknown as RunRecord;
/** Scores of which the first `wrong` are wrong, shifted by `from`. */
const look = (id: string, n: number, wrong: number, from = 0, faults: { item: number; reason: string }[] = []): AccuracyView => ({
  record: { id, purpose: "first", look: 0, artifactDigest: "d", batches: [[1, n]], faults, scores: "s", lengthMs: 1, answers: null },
  scores: {
    items: Array.from({ length: n }, (_, i) => i),
    values: Array.from({ length: n }, (_, i) => (i >= from && i < from + wrong ? 0 : 1)),
    predictions: Array.from({ length: n }, (_, i) => (i >= from && i < from + wrong ? 1 : 0)),
  },
  answers: null,
});
/** Answers of equal length, two numbers an item. */
const answering = (view: AccuracyView, ...numbers: [number, number][]): AccuracyView => ({
  ...view,
  answers: { sizes: Int32Array.from(numbers, () => 2), values: Float32Array.from(numbers.flat()) },
});
const looks = (own: AccuracyView[], baseline: AccuracyView[], source?: AccuracyView) => ({
  own,
  baseline,
  source,
  sourceName: "m · as it is",
});

describe("the accuracy gate", () => {
  const base = [look("base", 2000, 50)];
  const gate = (own: AccuracyView, margin: number | null, minimum: number | null = null): Gate =>
    judgeAccuracy(looks([own], base), { maxDrop: margin, minimum, closeness: null }, run).gate;
  it("passes what is the same: no discordant item of 2,000 still allows 0.15 %", () => {
    expect(gate(look("a", 2000, 50), 0.005).result).toBe("pass");
    expect(gate(look("a", 2000, 50), 0.0014).result).toBe("cannot-tell");
    const { accuracy } = judgeAccuracy(looks([look("a", 2000, 50)], base), { maxDrop: 0.005, minimum: null, closeness: null }, run);
    expect(accuracy!.difference!.low).toBeCloseTo(-0.0015, 4);
    expect(accuracy!.agreement).toBe(1);
  });
  it("fails a drop that is surely too large, and leaves open what may be", () => {
    expect(gate(look("a", 2000, 150), 0.01).result).toBe("fail");
    expect(gate(look("a", 2000, 68), 0.01)).toMatchObject({
      result: "cannot-tell",
      reasons: [expect.stringMatching(/more items are needed/) as string],
    });
  });
  it("tests the minimum on the value itself", () => {
    expect(gate(look("a", 2000, 50), null, 0.975).result).toBe("pass");
    expect(gate(look("a", 2000, 51), null, 0.975).result).toBe("fail");
  });
  it("fails closed on any item without a usable answer, whatever was asked", () => {
    const broken = look("a", 2000, 50, 0, [{ item: 7, reason: "the output holds NaN" }]);
    expect(gate(broken, 0.5)).toMatchObject({ result: "fail", reasons: [expect.stringMatching(/item 7: the output holds NaN/) as string] });
    expect(judgeAccuracy(looks([broken], base), null, run).gate.result).toBe("fail");
    expect(judgeAccuracy(looks([], base), { maxDrop: 0.1, minimum: null, closeness: null }, run).gate.result).toBe("cannot-tell");
    expect(judgeAccuracy(looks([], base), null, run).gate.result).toBe("not-asked");
  });
  it("holds the answers against those of the model unchanged, in the worst item", () => {
    const source = answering(look("base", 3, 0), [1, 0], [3, 4], [0, 0]);
    const judge = (own: AccuracyView, closeness: AccuracyTargets["closeness"]) =>
      judgeAccuracy(looks([own], [source], source), { maxDrop: null, minimum: null, closeness }, run);
    const near = answering(look("a", 3, 0), [1, 0], [4, 3], [0, 0]);
    expect(judge(near, { minCosine: 0.95, maxRelativeL2: 0.3, maxAbs: 1 }).gate.result).toBe("pass");
    expect(judge(near, { minCosine: 0.97 }).gate).toMatchObject({
      result: "fail",
      reasons: [expect.stringMatching(/cosine of its answer is 0\.96 at item 1 beside m · as it is, at least 0\.97/) as string],
    });
    expect(judge(near, null).accuracy!.closeness).toMatchObject({
      items: 3,
      cosine: { item: 1 },
      maxAbs: { value: 1, item: 1 },
      p999Abs: 1,
    });
    // Zeros beside something, and something beside zeros.
    expect(judge(answering(look("a", 3, 0), [0, 0], [3, 4], [0, 0]), { minCosine: 0.5 }).gate.result).toBe("fail");
    expect(judge(answering(look("a", 3, 0), [1, 0], [3, 4], [1, 0]), { maxRelativeL2: 10 }).gate.reasons[0]).toMatch(
      /has no bound at item 2/,
    );
    expect(judge(look("a", 3, 0), { minCosine: 0 }).gate.result).toBe("cannot-tell");
    expect(judge(source, { minCosine: 1 }).gate.result).toBe("pass");
    const short: AccuracyView = { ...near, answers: { sizes: Int32Array.of(2, 1, 2), values: Float32Array.of(1, 0, 3, 0, 0) } };
    expect(judge(short, null).gate).toMatchObject({
      result: "fail",
      reasons: [expect.stringMatching(/item 1 is answered with 1 numbers/) as string],
    });
  });
  it("refuses a margin below the noise of the baseline itself", () => {
    const noisy = [look("base", 2000, 50), look("base", 2000, 80)];
    expect(judgeAccuracy(looks([look("a", 2000, 50)], noisy), { maxDrop: 0.01, minimum: null, closeness: null }, run).gate).toMatchObject({
      result: "cannot-tell",
      reasons: [expect.stringMatching(/noise floor/) as string],
    });
  });
});

describe("cost", () => {
  const demand = { peakPerSecond: 600, meanToPeakRatio: 0.5, goodRatio: 1 };
  it("of a stated peak is whole replicas at 80 % of the capacity: 600/s on 500/s each needs 2", () => {
    // 2 × $0.10 an hour ÷ (300/s × 3,600 s) = $0.1852 a million
    expect(costOf(demand, 500, 600, 0.1)).toMatchObject({ replicas: 2, value: expect.closeTo(0.185185, 5) as number });
    expect(costOf(demand, 750, null, 0.1)).toMatchObject({ replicas: 1, low: expect.closeTo(0.0925926, 6) as number });
    expect(costOf(demand, 0, null, 0.1)).toBeNull();
  });
});

const pass: Gate = { result: "pass", reasons: [] };
const judged = (
  name: string,
  more: {
    low?: number;
    high?: number | null;
    changes?: number;
    performance?: Gate;
    confirmed?: CandidateVerdict["confirmed"];
    slower?: boolean;
    overshoot?: number;
  } = {},
): Judged => {
  const { low = 1000, high = 1100, changes = name === "base" ? 0 : 1, performance = pass, confirmed = "not-needed", slower = false } = more;
  const ratio = { value: slower ? 2 : 1, low: slower ? 1.8 : 0.9, high: slower ? 2.2 : 1.1, pairs: 5, pValue: 0.5, logSd: 0.1 };
  return {
    verdict: {
      id: name,
      name,
      role: name === "base" ? "baseline" : "challenger",
      changes,
      performance,
      accuracyGate: pass,
      confirmed,
      cost: null,
      against: name === "base" ? null : { differs: { latency: slower, cpu: slower } },
      capacity: { lowPerSecond: low, highPerSecond: high, limit: "target", limitedBy: null, monotone: true, steps: [] },
    } as unknown as CandidateVerdict,
    cost: costOf({ peakPerSecond: null, meanToPeakRatio: 1, goodRatio: 1 }, low, high, 1),
    overshoot: more.overshoot ?? 1,
    latency: name === "base" ? null : ratio,
    cpu: name === "base" ? null : ratio,
    runs: 5,
  };
};
const answer = (all: Judged[]) => answerOf(all, { ratePerSecond: null, priced: false });

describe("pay-back of a run", () => {
  const priced = (low: number | null, high: number | null) =>
    ({ cost: { replicas: 1, perMillionGoodUsd: { value: 1, low, high }, basis: "" } }) as CandidateVerdict;
  const workload = {
    traffic: { ratePerSecond: 100, daily: { peakToMean: 2 } },
    volume: { lifetimeDays: 10 },
    hardware: { hourlyUsd: 3.6 },
  };
  const of = (base: CandidateVerdict, winner: CandidateVerdict, more: object = {}) =>
    payBackOf({ ...workload, ...more } as unknown as Workload, winner, base, 100);
  it("takes the lower bound of the saving and the mean rate", () => {
    // 100 s at 3.60 an hour = 0.10; 5 − 3 = 2 a million; 50,000 requests at 50/s in 1,000 s.
    const found = of(priced(5, 6), priced(2, 3))!;
    expect(found).toMatchObject({ savedPerMillionUsd: 2, day: 1, sentence: expect.stringMatching(/on day 1 of 10/) as string });
    expect(found.requests).toBeCloseTo(50_000, 6);
    expect(of(priced(5, 6), priced(2, 3), { volume: { lifetimeDays: 10, requestsPerDay: 4000 } })!.day).toBeNull();
  });
  it("saves nothing where costs overlap or are not bounded, and says nothing without a volume", () => {
    expect(of(priced(5, 6), priced(4, 5.5))!.sentence).toMatch(/nothing is saved for certain/);
    expect(of(priced(null, 6), priced(2, 3))).toMatchObject({ savedPerMillionUsd: null, requests: null });
    expect(of(priced(5, 6), priced(2, 3), { volume: undefined })).toBeNull();
  });
});

describe("the answer", () => {
  it("keeps the baseline when nothing is cheaper", () => {
    expect(answer([judged("base"), judged("a", { low: 500, high: 550 })]).kind).toBe("keep");
  });
  it("names a winner only when it is clearly cheaper and was confirmed", () => {
    expect(answer([judged("base"), judged("a", { low: 3000, high: 3300, confirmed: "yes" })])).toMatchObject({
      kind: "winner",
      candidate: "a",
    });
    expect(answer([judged("base"), judged("a", { low: 3000, high: 3300, confirmed: "no" })])).toMatchObject({
      kind: "cannot-tell",
      candidate: null,
    });
    expect(answer([judged("base"), judged("a", { low: 3000, high: 3300 })]).kind).toBe("cannot-tell");
  });
  it("proposes the simplest where costs overlap", () => {
    expect(answer([judged("base"), judged("a", { low: 1050, high: 1200 })])).toMatchObject({ kind: "no-difference", candidate: "base" });
    const failed: Gate = { result: "fail", reasons: ["p99 is 200 ms, target 100 ms"] };
    const both = [
      judged("base", { performance: failed }),
      judged("a", { low: 1000, changes: 3, confirmed: "yes" }),
      judged("b", { low: 1050, changes: 1, confirmed: "yes" }),
    ];
    expect(answer(both)).toMatchObject({
      kind: "winner",
      candidate: "b",
      sentence: expect.stringMatching(/A costs the same; it is the simplest/) as string,
    });
  });
  it("never proposes what is slower than the default", () => {
    expect(proposal([judged("base"), judged("a", { low: 5000, high: 5500, slower: true })])!.proposed.verdict.id).toBe("base");
  });
  it("takes an unbounded capacity for one that may be cheaper", () => {
    expect(answer([judged("base"), judged("a", { low: 900, high: null })]).kind).toBe("no-difference");
  });
  it("says what fails, nearest first, when nothing meets the targets", () => {
    const fails = (by: number): Gate => ({ result: "fail", reasons: [`misses by ${by}`] });
    const found = answer([judged("base", { performance: fails(9), overshoot: 9 }), judged("a", { performance: fails(2), overshoot: 2 })]);
    expect(found.kind).toBe("none-meets");
    expect(found.reasons).toEqual(["a: misses by 2", "base: misses by 9"]);
  });
  it("cannot tell while one is open and none passes, and says about how many more runs", () => {
    const open: Gate = { result: "cannot-tell", reasons: ["too few"] };
    const found = answer([judged("base", { performance: open }), judged("a", { performance: { result: "fail", reasons: [] } })]);
    expect(found.kind).toBe("cannot-tell");
    expect(found.moreRuns).toBeGreaterThanOrEqual(3);
  });
});
