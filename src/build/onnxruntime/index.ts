/** ONNX Runtime as a build worker: its routes, its keys, its jobs. */
import { entryUrl, type Machine } from "../../host/index.ts";
import { onnxRuntimeVersion, type ArtifactKeyFields, type ModelHeader } from "../../artifact/index.ts";
import type { Json } from "../../base/index.ts";
import { defaultSession, type Route, type StaticRoute } from "../../workload/index.ts";
import type { ArtifactRequest } from "../obtain.ts";
import type { WorkerSpec } from "../supervisor.ts";
import { neededOpset, whyNotRaised } from "./opset.ts";
import type { BuildJob, ProfileJob, RowsPerItem, ScreenJob, SmokeJob } from "./jobs.ts";

export const onnxruntimeWorker: WorkerSpec = { name: "onnxruntime", entry: entryUrl(import.meta.url, "./worker.entry.js") };

/** Name and version as loaded. */
export const onnxruntimeStack = (): { name: string; version: string } => ({ name: "onnxruntime", version: onnxRuntimeVersion() });

/** Version of the code that rewrites models; a change makes every artifact anew. */
const quantiserVersion = 4;

/** Every combination of the values of each field. */
const product = <T extends object>(fields: { [K in keyof T]: readonly T[K][] }): T[] =>
  Object.entries(fields as Record<string, readonly unknown[]>).reduce<object[]>(
    (made, [field, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [field]: value }))),
    [{}],
  ) as T[];

const allRoutes: readonly Route[] = [
  { precision: "fp32" },
  ...product<Extract<Route, { precision: "fp16" }>>({ precision: ["fp16"], compute: ["half", "single"] }),
  ...product<Extract<Route, { precision: "int8-dynamic" }>>({ precision: ["int8-dynamic"], operators: ["all", "matmul"] }),
  ...product<StaticRoute>({
    precision: ["int8-static"],
    perChannel: [false, true],
    activations: ["uint8", "int8"],
    symmetric: [false, true],
    operators: ["all", "matmul"],
    calibration: ["minmax", "percentile", "entropy"],
    form: ["qdq", "qoperator"],
  }),
  ...(["int8-weights", "int4-weights"] as const).flatMap((precision) =>
    ([4, 0] as const).map((accuracyLevel): Route => ({ precision, accuracyLevel })),
  ),
];
const quantisedOps = [
  "QuantizeLinear",
  "DequantizeLinear",
  "MatMulInteger",
  "ConvInteger",
  "QLinearConv",
  "QLinearMatMul",
  "DynamicQuantizeLinear",
  "com.microsoft:MatMulNBits",
  "com.microsoft:DynamicQuantizeMatMul",
];

/** Bytes that one ONNX file holds: a protobuf message ends at 2 GB. */
const mostBytes = 2 ** 31 - 2 ** 24;

const noMatMul = "it has no Gemm or MatMul with constant float weights";

function refusal({ operators, opset, nodes, inputs, bytes }: ModelHeader, route: Route): string | null {
  if (route.precision === "fp32") return null;
  if (bytes > mostBytes) return "with its weights it is above 2 GB, which no file that could be rewritten holds";
  const already = quantisedOps.find((op) => operators[op]);
  if (already) return `the model is quantised already: it has ${already}`;
  const foreign = Object.keys(operators).find((op) => op.startsWith("ai.onnx.ml:"));
  if (route.precision === "fp16") {
    if (foreign) return `${foreign} has no half-precision form`;
    if (nodes.some(({ hasGraphs }) => hasGraphs)) return "the model holds graphs within operators, which this route leaves alone";
    return inputs.some(({ datatype }) => datatype === "FP32") || nodes.some(({ weight }) => weight?.onnxType === 1)
      ? null
      : "nothing in it is single precision";
  }
  const weighted = (...ops: string[]): boolean =>
    nodes.some(({ op, domain, weight }) => domain === "" && ops.includes(op) && weight?.onnxType === 1 && weight.shape.length >= 2);
  if (route.precision === "int8-weights" || route.precision === "int4-weights") return weighted("Gemm", "MatMul") ? null : noMatMul;
  if (route.operators === "matmul") {
    if (!weighted("Gemm", "MatMul")) return noMatMul;
    if (!weighted("Conv")) return "it has no Conv with constant float weights: this route is the same as the one over all operators";
  }
  if (!weighted("Conv", "Gemm", "MatMul")) return "it has no Conv, Gemm or MatMul with constant float weights";
  // It makes them unsigned there, and forgets the type that these QuantizeLinear nodes state.
  if (route.precision === "int8-static" && route.activations === "int8" && opset >= 21 && process.arch === "x64")
    return `ONNX Runtime ${onnxRuntimeVersion()} does not load int8 activations at operator set ${opset} on x64`;
  const needed = neededOpset(route);
  const stuck = opset < needed ? whyNotRaised(opset, nodes) : null;
  return stuck && `it needs operator set ${needed}; ${stuck}`;
}

/** Every route for a model, each with the reason why it cannot be taken, or null. */
export const routesOf = (header: ModelHeader): { route: Route; refused: string | null }[] =>
  allRoutes.map((route) => ({ route, refused: refusal(header, route) }));

export interface OnnxRequest {
  header: ModelHeader;
  modelPath: string;
  route: Route;
  machine: Machine;
  /** The calibration split: its digest (items and order) and its tensor file. */
  calibration: { digest: string; file: string };
  /** Tensor file of a few items to try the artifact on. */
  smokeFile: string;
  outputs: readonly string[];
}

const wideProducts = /vnni|amx_int8/;
/** Bits of int8 weights that this machine multiplies without overflow. */
const weightBitsOf = ({ arch, isa }: Machine): 7 | 8 => (arch !== "x64" || isa.some((set) => wideProducts.test(set)) ? 8 : 7);

/** The key and the jobs that make and try the artifact of a model and a route. */
export function artifactRequest({
  header,
  modelPath,
  route,
  machine,
  calibration,
  smokeFile,
  outputs,
}: OnnxRequest): Omit<ArtifactRequest, "fresh"> {
  const weightBits = weightBitsOf(machine);
  const needsCalibration = route.precision === "int8-static";
  const fields: ArtifactKeyFields = {
    stack: { os: machine.os, libc: machine.libc, arch: machine.arch, isa: machine.isa, runtime: onnxruntimeStack() },
    builder: {
      worker: "onnxruntime",
      quantiser: quantiserVersion,
      ...(route.precision.startsWith("int8") && { weightBits }),
      route: route as unknown as Json,
    },
    model: {
      digest: header.digest,
      opsets: header.opsets,
      inputs: header.inputs as unknown as Json,
      outputs: header.outputs as unknown as Json,
      calibration: needsCalibration ? calibration.digest : null,
    },
  };
  const build = (outFolder: string): Json => {
    const job: BuildJob = {
      kind: "build",
      modelPath,
      externalFiles: header.externalFiles.map(({ location }) => location),
      route,
      outFolder,
      calibrationFile: needsCalibration ? calibration.file : null,
      inputsFile: smokeFile,
      outputs,
      batchable: isBatchable(header),
      rows: rowsOf(header),
      weightBits,
    };
    return job as unknown as Json;
  };
  const smoke = (path: string): Json => {
    const job: SmokeJob = {
      kind: "smoke",
      modelPath: path,
      inputsFile: smokeFile,
      rows: rowsOf(header),
      session: defaultSession(1),
      outputs,
    };
    return job as unknown as Json;
  };
  return {
    worker: onnxruntimeWorker,
    fields,
    build,
    smoke,
    facts: {
      route: route as unknown as Json,
      inputs: header.inputs as unknown as Json,
      outputs: header.outputs.filter(({ name }) => outputs.includes(name)) as unknown as Json,
    },
  };
}

/** Whether requests can be joined along the first size of every input. */
export const isBatchable = (header: ModelHeader): boolean =>
  header.inputs.length > 0 && header.inputs.every(({ shape }) => shape[0] === -1);

/** Rows that one item takes in a tensor file. */
export const rowsOf = (header: ModelHeader): RowsPerItem =>
  Object.fromEntries(header.inputs.map(({ name, shape }) => [name, shape[0] === -1 ? 1 : (shape[0] ?? 1)]));

/** The job that asks where a model's time goes: a metric an operator, and "run" for the whole. */
export const profileJob = (job: Omit<ProfileJob, "kind">): Json => ({ kind: "profile", ...job }) as unknown as Json;

/** The job that screens arms. */
export const screenJob = (arms: ScreenJob["arms"]): Json => ({ kind: "screen", arms }) as unknown as Json;
