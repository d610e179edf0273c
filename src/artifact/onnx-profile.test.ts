import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { defaultSession } from "../workload/index.ts";
import { profileOnnxModel, sumProfile } from "./onnx-profile.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-profile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const kernel = (node: string, op: string, dur: number) => ({
  cat: "Node",
  name: `${op}_${node}_kernel_time`,
  dur,
  args: { op_name: op, node_index: node },
});

it("sums the kernels of the runs after the first five, by operator and per run", () => {
  const slow = Array.from({ length: 5 }, () => [kernel("0", "Conv", 9000), kernel("1", "Relu", 9000), kernel("2", "Conv", 9000)]);
  const timed = [
    [kernel("0", "Conv", 10), kernel("1", "Relu", 3), kernel("2", "Conv", 20)],
    [kernel("0", "Conv", 14), kernel("1", "Relu", 5), kernel("2", "Conv", 26)],
  ];
  const events = [
    { cat: "Session", name: "model_loading_uri", dur: 5000 },
    ...slow.flat(),
    ...timed.flat(),
    { cat: "Node", name: "Conv_0_fence_before", dur: 100, args: { op_name: "Conv" } },
  ];
  expect(sumProfile(events, 2)).toEqual([
    { op: "Conv", nodes: 2, us: 35 },
    { op: "Relu", nodes: 1, us: 4 },
  ]);
});

it("finds a real model's operators, and their times within the run's", async () => {
  const model = fileURLToPath(new URL("../../examples/digits/models/cnn.onnx", import.meta.url));
  const inputs = [new Map([["x", { datatype: "FP32" as const, shape: [1, 1, 28, 28], data: new Float32Array(784).fill(0.5) }]])];
  const profile = await profileOnnxModel(model, defaultSession(1), ["logits"], inputs, { folder, windowMs: 50 });
  expect(profile.runs).toBeGreaterThanOrEqual(10);
  expect(profile.operators.map(({ op }) => op)).toContain("FusedGemm");
  const inside = profile.operators.reduce((sum, { us }) => sum + us, 0);
  expect(inside).toBeGreaterThan(0);
  expect(inside).toBeLessThan(profile.runUs * 1.05);
});
