import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compareVerdicts, ratioOfRatios } from "./compare.ts";
import { verdictSchema, type Verdict } from "./verdict.ts";

const real = verdictSchema.parse(JSON.parse(readFileSync(new URL("../../test/fixtures/verdict.json", import.meta.url), "utf8")));
const changed = (change: (verdict: Verdict) => void): Verdict => {
  const copy = structuredClone(real);
  change(copy);
  return copy;
};

describe("two runs", () => {
  it("have ratios whose half-widths add as squares in the logarithm", () => {
    // ±ln 1.03 and ±ln 1.04: together ±√(0.02956² + 0.03922²) = ±0.04911
    const found = ratioOfRatios({ value: 2, low: 2 / 1.03, high: 2 * 1.03 }, { value: 1, low: 1 / 1.04, high: 1.04 })!;
    expect(found.value).toBeCloseTo(2, 12);
    expect(Math.log(found.high / 2)).toBeCloseTo(Math.hypot(Math.log(1.03), Math.log(1.04)), 12);
    expect(found.low * found.high).toBeCloseTo(4, 12);
    expect(ratioOfRatios({ value: 1, low: null, high: 2 }, { value: 1, low: 0.9, high: 1.1 })).toBeNull();
  });
  it("agree when they are one", () => {
    const found = compareVerdicts(real, real);
    expect(found).toMatchObject({ agrees: true, disagreements: [] });
    expect(found.candidates.map(({ name }) => name)).toEqual(real.candidates.map(({ name }) => name));
  });
  it("do not when the answer is of another class or names another", () => {
    const other = changed(({ answer }) => Object.assign(answer, { kind: "cannot-tell", name: null }));
    expect(compareVerdicts(real, other)).toMatchObject({
      agrees: false,
      disagreements: [expect.stringMatching(/is cannot-tell/) as string],
    });
    const named = changed(({ answer }) => Object.assign(answer, { name: "another" }));
    expect(compareVerdicts(real, named).disagreements[0]).toMatch(/names another/);
  });
  it("do not when wall and CPU time both moved beside the baseline's; one alone is noise", () => {
    const move = (...which: ("latency" | "cpu")[]) =>
      changed(({ candidates }) => {
        for (const name of which) {
          const ratio = candidates[1]!.against![name]!;
          for (const key of ["value", "low", "high"] as const) ratio[key]! *= 50;
        }
      });
    expect(compareVerdicts(real, move("latency")).agrees).toBe(true);
    expect(compareVerdicts(real, move("latency", "cpu")).disagreements[0]).toMatch(/median latency beside the baseline's is 50 times/);
  });
  it("say what was put differently", () => {
    const other = changed(({ repeat }) => {
      repeat.machine["cpu"] = "another";
      repeat.versions["onnxruntime"] = "9.9.9";
      repeat.rootSeed = "x";
    });
    const { differences } = compareVerdicts(real, other);
    expect(differences).toEqual(
      expect.arrayContaining([expect.stringMatching(/^machine cpu: .* → another$/), expect.stringMatching(/→ 9\.9\.9/), "fresh seeds"]),
    );
  });
});
