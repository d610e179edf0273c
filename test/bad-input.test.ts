import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema, type ModelProto } from "onnx-buf";
import { afterAll, describe, expect, it } from "vitest";
import { assay, childrenLeft } from "./command-line.ts";

const digits = fileURLToPath(new URL("../examples/digits", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "assay-bad-"));
const where = { cwd: folder, cache: join(folder, "cache") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));
cpSync(digits, folder, { recursive: true });

const text = readFileSync(join(digits, "workload.yaml"), "utf8").replace("wallSeconds: 120", "wallSeconds: 10");
let files = 0;
const workload = (change: (from: string) => string): string => {
  const name = `w${files++}.yaml`;
  writeFileSync(join(folder, name), change(text));
  return name;
};
/** A workload whose baseline is the MLP, changed. */
const model = (change: (from: ModelProto) => void): string => {
  const proto = fromBinary(ModelProtoSchema, readFileSync(join(digits, "models/mlp.onnx")));
  change(proto);
  const name = `models/m${files}.onnx`;
  writeFileSync(join(folder, name), toBinary(ModelProtoSchema, proto));
  return workload((from) => from.replace("models/cnn.onnx", name));
};

describe("bad input", () => {
  it.each<[string, () => string[], number, RegExp]>([
    ["no such command", () => ["deside", "x"], 2, /unknown command 'deside'/],
    ["no such file", () => ["decide", "nowhere.yaml"], 2, /WORKLOAD_UNREADABLE[\s\S]*nowhere\.yaml/],
    [
      "several faults at once",
      () => ["decide", workload((from) => from.replace("p99: 100", "p99: 1").replace("ratePerSecond", "rate"))],
      2,
      /WORKLOAD_INVALID[\s\S]*:\d+:\d+ {2}traffic\.rate[\s\S]*did you mean "ratePerSecond"/,
    ],
    ["a bad budget", () => ["decide", workload((from) => from), "--budget", "soon"], 2, /USAGE[\s\S]*"soon" is no duration/],
    [
      "more threads than the host has",
      () => ["decide", workload((from) => from.replace("threads: 1", "threads: 512"))],
      2,
      /HOST_UNFIT[\s\S]*hardware\.threads is 512/,
    ],
    [
      "a model that is no ONNX",
      () => ["decide", workload((from) => from.replace("models/cnn.onnx", "data/digits.npz"))],
      2,
      /MODEL_UNREADABLE/,
    ],
    [
      "a model that is not there",
      () => ["decide", workload((from) => from.replace("models/cnn.onnx", "models/none.onnx"))],
      2,
      /MODEL_UNREADABLE[\s\S]*ENOENT/,
    ],
    [
      "a path that leaves the folder",
      () => ["decide", workload((from) => from.replace("models/cnn.onnx", "../../etc/passwd"))],
      2,
      /PATH_OUTSIDE/,
    ],
    [
      "an operator that the runtime lacks",
      () => ["decide", model((proto) => (proto.graph!.node[0]!.opType = "Frobnicate"))],
      2,
      /MODEL_UNSUPPORTED[\s\S]*Frobnicate/,
    ],
    [
      "a free size that the data do not tell",
      () => [
        "decide",
        model((proto) => {
          const type = proto.graph!.input[0]!.type!;
          if (type.value.case === "tensorType") type.value.value.shape!.dim[1]!.value = { case: "dimParam", value: "width" };
        }),
      ],
      2,
      /MODEL_DIMENSION_UNBOUND[\s\S]*dimension 1/,
    ],
    [
      "weights that are no numbers",
      () => [
        "decide",
        model((proto) => {
          for (const tensor of proto.graph!.initializer) tensor.rawData = Buffer.alloc(tensor.rawData.byteLength, 0xff);
        }),
      ],
      1,
      /BUILD_FAILED[\s\S]*NaN/,
    ],
    [
      "a split larger than the data",
      () => ["decide", workload((from) => from.replace("holdout: 2000", "holdout: 9000"))],
      2,
      /DATA_MISFIT[\s\S]*the data have 3024/,
    ],
    [
      "labels that are not there",
      () => ["decide", workload((from) => from.replace("labels: y", "labels: z"))],
      2,
      /DATA_MISFIT[\s\S]*no field "z"/,
    ],
    ["a run that is none", () => ["report", "models"], 2, /RUN_UNREADABLE/],
    ["a file that init would replace", () => ["init", "models/cnn.onnx", "--data", "data/digits.npz"], 2, /OUT_EXISTS/],
    ["an artifact that is none", () => ["serve-model", "data"], 1, /ARTIFACT_INVALID/],
  ])("%s: exit status, code, place", async (_, args, code, message) => {
    const ended = await assay([...args(), ...(args()[0] === "decide" ? ["--out", `out-${files}`] : [])], where);
    expect(ended.stderr).toMatch(message);
    expect(ended.code, ended.stderr).toBe(code);
    expect(ended.stdout).toBe("");
    expect(childrenLeft()).toEqual([]);
  });

  it("init and doctor answer what a newcomer asks first", async () => {
    expect(await assay(["init", "models/mlp.onnx", "--data", "data/digits.npz", "--out", "drafted.yaml"], where)).toMatchObject({
      code: 0,
    });
    expect(readFileSync(join(folder, "drafted.yaml"), "utf8")).toMatch(/scale: 0\.0039/);
    const doctor = await assay(["doctor", "--json"], where);
    expect(doctor.code).toBe(0);
    expect((JSON.parse(doctor.stdout) as { findings: { ok: boolean }[] }).findings[0]).toMatchObject({ ok: true });
    expect((await assay(["--help"], where)).stdout).toMatch(/decide[\s\S]*verify/);
  });
});
