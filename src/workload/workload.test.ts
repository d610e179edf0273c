import { describe, expect, it } from "vitest";
import {
  candidatesOf,
  changesOf,
  formatFaults,
  hostFault,
  parseWorkload,
  type ModelFacts,
  type NameFilter,
  type Route,
  type StaticRoute,
} from "./index.ts";

const good = `apiVersion: assay/v1
name: digits
class: online
models:
  - { id: cnn, path: cnn.onnx, licence: MIT }
  - { id: mlp, path: mlp.onnx }
data:
  path: digits.npz
  inputs: { x: { field: x } }
  labels: y
  score: { output: logits, decode: argmax }
  task: classification
  split: { calibration: 10, tuning: 10, holdout: 100 }
traffic: { arrival: poisson, ratePerSecond: 600 }
targets:
  latencyMs: { p50: 10, p99: 100 }
  successRatio: 0.995
accuracy: { metric: top1, maxDrop: 0.01 }
hardware: { threads: 1 }
`;
const faultsOf = (from: string, to: string) => {
  expect(good).toContain(from);
  return parseWorkload(good.replace(from, to)).faults;
};

describe("a workload file", () => {
  it("that is right has no faults", () => {
    const { workload, faults } = parseWorkload(good);
    expect(faults).toEqual([]);
    expect(workload!.budget.wallSeconds).toBe(120);
  });

  it.each<[string, string, string, { line: number; column?: number; path?: string; message?: RegExp; nearest?: string }]>([
    [
      "an unknown field",
      "ratePerSecond: 600",
      "ratePerSecnd: 600",
      { line: 14, column: 30, path: "traffic.ratePerSecnd", nearest: "ratePerSecond" },
    ],
    ["an unknown field at the top", "hardware:", "hardwear:", { line: 19, column: 1, path: "hardwear", nearest: "hardware" }],
    ["a wrong type", "threads: 1", "threads: one", { line: 19, path: "hardware.threads", message: /wrong type/ }],
    ["a unit in a number", "ratePerSecond: 600", "ratePerSecond: 600/s", { line: 14, path: "traffic.ratePerSecond" }],
    ["a misspelt value", "decode: argmax", "decode: argmin", { line: 11, path: "data.score.decode", nearest: "argmax" }],
    [
      "a percentile out of order",
      "p50: 10, p99: 100",
      "p50: 200, p99: 100",
      { line: 16, path: "targets.latencyMs.p50", message: /slower/ },
    ],
    ["a percentile that is none", "p50: 10, p99: 100", "median: 10", { line: 16, message: /wrong name/ }],
    [
      "a target on a metric of token models",
      "  successRatio: 0.995",
      "  ttftMs: { p99: 500 }",
      { line: 17, path: "targets.ttftMs", message: /tokens/ },
    ],
    ["another class of work", "class: online", "class: batch", { line: 3, path: "class", message: /online/ }],
    ["two models of one id", "id: mlp", "id: cnn", { line: 6, path: "models[1].id" }],
    ["a rate of zero", "ratePerSecond: 600", "ratePerSecond: 0", { line: 14, message: /too small/ }],
    ["a negative rate", "ratePerSecond: 600", "ratePerSecond: -5", { line: 14 }],
    ["a rate that is no number", "ratePerSecond: 600", "ratePerSecond: .nan", { line: 14 }],
    ["an endless rate", "ratePerSecond: 600", "ratePerSecond: .inf", { line: 14 }],
    ["a success ratio in percent", "successRatio: 0.995", "successRatio: 99.5", { line: 17, message: /too big/ }],
    ["a missing field", "  labels: y\n", "", { line: 7, path: "data.labels", message: /missing/ }],
    ["a metric of another task", "metric: top1", "metric: mse", { line: 18, path: "accuracy.metric" }],
    [
      "an empty accuracy",
      "accuracy: { metric: top1, maxDrop: 0.01 }",
      "accuracy: { metric: top1 }",
      { line: 18, message: /asks for nothing/ },
    ],
    ["a place nobody knows", "  labels: y", "  labels: y\n  residency: [Atlantis]", { line: 11, path: "data.residency[0]" }],
    [
      "requests a day against the traffic",
      "hardware:",
      "volume: { lifetimeDays: 1, requestsPerDay: 1000 }\nhardware:",
      { line: 19, path: "volume.requestsPerDay" },
    ],
    ["a field twice", "name: digits", "name: digits\nname: again", { line: 3, message: /twice/ }],
    ["an alias", "name: digits", "name: &a digits\nlabels: *a", { line: 3, message: /aliases/ }],
    ["a tag", "name: digits", "name: !!js/function digits", { line: 2, message: /tags/ }],
    ["a tab", "  labels: y", "\tlabels: y", { line: 10, message: /tab/ }],
    ["a byte order mark", "apiVersion", "\uFEFFapiVersion", { line: 1, message: /byte order/ }],
    ["a NUL", "name: digits", "name: di\0gits", { line: 2, column: 9, message: /NUL/ }],
    ["no YAML", "models:", "models: [", { line: 4, message: /YAML/ }],
  ])("with %s says where and what", (_, from, to, expected) => {
    const faults = faultsOf(from, to);
    const at = faults.find(({ line }) => Math.abs(line - expected.line) <= (expected.message?.source === "YAML" ? 20 : 0));
    expect(at, formatFaults(faults, "w.yaml")).toBeDefined();
    if (expected.column !== undefined) expect(at!.column).toBe(expected.column);
    if (expected.path !== undefined) expect(at!.path).toBe(expected.path);
    if (expected.message) expect(at!.message).toMatch(expected.message);
    if (expected.nearest !== undefined) expect(at!.nearest).toBe(expected.nearest);
  });

  it("lists every fault at once", () => {
    const { faults } = parseWorkload(
      good.replace("ratePerSecond", "rate").replace("p99: 100", "p99: -1").replace("decode: argmax", "decode: max"),
    );
    expect(faults.map(({ path }) => path)).toEqual(["data.score.decode", "traffic.rate", "targets.latencyMs.p99"]);
    expect(formatFaults(faults, "w.yaml")).toMatch(
      /^w\.yaml:11:\d+ {2}data\.score\.decode: unknown value — found "max"; expected "argmax"/,
    );
  });

  it("that is too large is not read", () => {
    expect(parseWorkload(`${good}# ${"x".repeat(1_100_000)}`).faults[0]!.message).toMatch(/too large/);
  });

  it("names what it states and nobody acts on", () => {
    const { notUsed } = parseWorkload(`${good}weights: { vendorRisk: 0.1 }\n`);
    expect(notUsed.map(({ path }) => path)).toEqual(["weights"]);
  });
});

const statically = (more: Partial<StaticRoute>): StaticRoute => ({
  precision: "int8-static",
  perChannel: false,
  activations: "uint8",
  symmetric: false,
  operators: "all",
  calibration: "minmax",
  form: "qdq",
  ...more,
});
const routes: Route[] = [
  { precision: "fp32" },
  { precision: "fp16", compute: "half" },
  { precision: "int8-dynamic", operators: "all" },
  { precision: "int8-dynamic", operators: "matmul" },
  statically({}),
  statically({ perChannel: true }),
  statically({ activations: "int8" }),
  statically({ form: "qoperator" }),
];
const model = (id: string, more: Partial<ModelFacts> = {}): ModelFacts => ({
  id,
  digest: id.padEnd(64, "0"),
  batchable: true,
  routes: routes.map((route) => ({ route, refused: null })),
  ...more,
});
const funnel = (text: string, models = [model("cnn"), model("mlp")], cores = 2, names: NameFilter = {}) =>
  candidatesOf(parseWorkload(text).workload!, { models, cores, runtime: { name: "r", version: "1" }, ...names });

describe("the funnel", () => {
  it("puts the baseline first, then every other source model, and stays small", () => {
    const { candidates, baseline, enumerated } = funnel(good);
    expect(candidates[0]).toBe(baseline);
    expect(baseline.name).toBe("cnn · as it is");
    expect(candidates[1]!.name).toBe("mlp · as it is");
    expect(candidates.length).toBe(enumerated);
    expect(candidates.length).toBeLessThanOrEqual(60);
    expect(new Set(candidates.map(({ id }) => id)).size).toBe(candidates.length);
    expect(candidates.some(({ session }) => session.execution === "parallel")).toBe(true);
  });
  it("keeps what is asked for, the baseline always, and says what asked the others away", () => {
    const all = funnel(good).candidates.length;
    const names = (filter: NameFilter): string[] => funnel(good, undefined, 2, filter).candidates.map(({ name }) => name);
    expect(names({ only: ["mlp*int8-static*u8"] })).toEqual([
      "cnn · as it is",
      "mlp · int8-static per-tensor u8",
      "mlp · int8-static per-channel u8",
    ]);
    const without = names({ exclude: ["batch", "cnn"] });
    expect(without.filter((name) => name.includes("batch") || name.includes("cnn"))).toEqual(["cnn · as it is"]);
    expect(without.length).toBeLessThan(all);
    const { excluded } = funnel(good, undefined, 2, { only: ["mlp · fp16"], exclude: ["fp16"] });
    expect(excluded.find(({ name }) => name === "mlp · fp16")).toEqual({
      stage: "asked",
      name: "mlp · fp16",
      reason: "--exclude fp16 names it",
    });
    expect(names({ only: ["no.such[name"] })).toEqual(["cnn · as it is"]);
  });
  it("keeps an id when the model is only renamed, and changes it with any setting", () => {
    const renamed = funnel(good.replace("id: cnn", "id: zebra"), [{ ...model("zebra"), digest: "cnn".padEnd(64, "0") }, model("mlp")]);
    expect(renamed.baseline.id).toBe(funnel(good).baseline.id);
    expect(
      funnel(good)
        .candidates.map((one) => changesOf(one, funnel(good).baseline))
        .filter((n) => n === 0),
    ).toHaveLength(1);
  });
  it("takes out what a model cannot take, with the reason", () => {
    const fixed = model("cnn", {
      batchable: false,
      routes: routes.map((route) => ({ route, refused: route.precision === "fp16" ? "no half" : null })),
    });
    const { excluded, candidates } = funnel(good, [fixed, model("mlp")]);
    expect(excluded).toContainEqual({ stage: "compatibility", name: "cnn · fp16", reason: "no half" });
    expect(excluded.some(({ name, reason }) => name === "cnn · batch 8" && /fixed first size/.test(reason))).toBe(true);
    expect(candidates.some(({ name }) => name.startsWith("cnn · fp16"))).toBe(false);
  });
  it("takes out models whose licence is not allowed", () => {
    const { excluded, candidates } = funnel(`${good}allowedLicences: [MIT]\n`);
    expect(excluded.every(({ stage, name }) => stage === "licence" && name.startsWith("mlp"))).toBe(true);
    expect(candidates.every(({ model: id }) => id === "cnn")).toBe(true);
  });
  it("keeps threads × replicas within what one replica may use", () => {
    const { candidates, excluded } = funnel(
      `${good.replace("threads: 1", "threads: 4")}search: { replicas: [1, 2, 8], intraThreads: [1, 4, 6] }\n`,
      [model("cnn"), model("mlp")],
      8,
    );
    for (const { session, serving } of candidates) expect(session.intraThreads * serving.replicas).toBeLessThanOrEqual(4);
    expect(excluded.some(({ stage, reason }) => stage === "fit" && /= 8, hardware\.threads is 4/.test(reason))).toBe(true);
  });
  it("refuses a host that is too small", () => {
    const { workload } = parseWorkload(good.replace("threads: 1", "threads: 4"));
    expect(hostFault(workload!, 4)).toMatch(/at most 3/);
    expect(hostFault(workload!, 5)).toBeNull();
  });
});
