/**
 * What an ONNX file says about itself: inputs, outputs, operators, free sizes and digest. Everything
 * that can be refused before a runtime sees the model is refused here.
 */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type { GraphProto, NodeProto, TypeProto, ValueInfoProto } from "onnx-buf";
import { AssayError, digestJson } from "../base/index.ts";
import { dataTypeOfOnnx, type TensorSpec } from "../tensor/index.ts";
import { digestFile, externalFilesOf, graphsOf, parseModel, readFileBytes, type ExternalFile } from "./onnx-file.ts";

/** One operator of the main graph, with what decides whether a build route can change it. */
export interface NodeFacts {
  name: string;
  op: string;
  /** "" is the standard set. */
  domain: string;
  /** Shape and ONNX type number of the second input where it is a constant: the weights of Conv, Gemm and MatMul. */
  weight?: { shape: readonly number[]; onnxType: number };
  /** Whether the node holds graphs of its own, as `If` and `Loop` do. */
  hasGraphs: boolean;
}

export interface ModelHeader {
  /** Hex SHA-256 of the file; with external data, of the canonical JSON of every file's name and SHA-256. */
  digest: string;
  /** Bytes of the file and its external data. */
  bytes: number;
  irVersion: number;
  /** Version of the standard operator set; 0 when the model uses none of it. */
  opset: number;
  /** Version of every operator set by domain. */
  opsets: Readonly<Record<string, number>>;
  /** Without the initialisers that old files list among the inputs. */
  inputs: readonly TensorSpec[];
  /** The outputs that are tensors of a type we carry. */
  outputs: readonly TensorSpec[];
  /** Outputs that are left unasked: sequences, maps and rare types, each with the reason. */
  unsupportedOutputs: readonly { name: string; reason: string }[];
  externalFiles: readonly ExternalFile[];
  /** Inputs whose first size is the batch, with its symbol ("" when it has none). */
  freeDimensions: readonly { input: string; symbol: string }[];
  /** Operator → count over all graphs; other domains as `domain:Operator`. */
  operators: Readonly<Record<string, number>>;
  nodes: readonly NodeFacts[];
}

const sizesOf = (type: TypeProto): { size: number; symbol: string }[] | undefined =>
  type.value.case === "tensorType"
    ? type.value.value.shape?.dim.map(({ value }) =>
        value.case === "dimValue" && value.value > 0n
          ? { size: Number(value.value), symbol: "" }
          : { size: -1, symbol: value.case === "dimParam" ? value.value : "" },
      )
    : undefined;

const kindName = (type: TypeProto | undefined): string => type?.value.case?.replace("Type", "") ?? "untyped value";

function inputSpec(input: ValueInfoProto, path: string): { spec: TensorSpec; symbol: string } {
  const type = input.type;
  if (type?.value.case !== "tensorType") {
    throw new AssayError("MODEL_UNSUPPORTED", `${path}: input "${input.name}" is a ${kindName(type)}; expected a tensor`);
  }
  const datatype = dataTypeOfOnnx(type.value.value.elemType);
  if (!datatype) {
    const found = `has element type ${type.value.value.elemType} of ONNX`;
    throw new AssayError("MODEL_UNSUPPORTED", `${path}: input "${input.name}" ${found}; expected a common number type or text`);
  }
  const sizes = sizesOf(type);
  if (!sizes)
    throw new AssayError("MODEL_DIMENSION_UNBOUND", `${path}: input "${input.name}" has no shape, not even a number of dimensions`);
  return { spec: { name: input.name, datatype, shape: sizes.map(({ size }) => size) }, symbol: sizes[0]?.symbol ?? "" };
}

function outputSpec(output: ValueInfoProto): TensorSpec | { name: string; reason: string } {
  const type = output.type;
  if (type?.value.case !== "tensorType") return { name: output.name, reason: `it is a ${kindName(type)}, not a tensor` };
  const datatype = dataTypeOfOnnx(type.value.value.elemType);
  if (!datatype) return { name: output.name, reason: `its element type ${type.value.value.elemType} of ONNX is not carried` };
  return { name: output.name, datatype, shape: sizesOf(type)?.map(({ size }) => size) ?? [-1] };
}

/** Names of the values that do not change from run to run, with shape and type: initialisers and `Constant` nodes. */
function constantsOf(graph: GraphProto): Map<string, { shape: number[]; onnxType: number }> {
  const found = new Map(graph.initializer.map((tensor) => [tensor.name, { shape: tensor.dims.map(Number), onnxType: tensor.dataType }]));
  for (const node of graph.node) {
    const tensor = node.opType === "Constant" ? node.attribute.find(({ name }) => name === "value")?.t : undefined;
    if (tensor) found.set(node.output[0]!, { shape: tensor.dims.map(Number), onnxType: tensor.dataType });
  }
  return found;
}

const standard = (domain: string): string => (domain === "ai.onnx" ? "" : domain);
const nodeName = (node: NodeProto, index: number): string => node.name || node.output.find((name) => name !== "") || `node ${index}`;

/**
 * Reads the header of an ONNX file and checks that its external data are there.
 * Throws MODEL_UNREADABLE, MODEL_EXTERNAL_DATA, MODEL_DIMENSION_UNBOUND, MODEL_UNSUPPORTED.
 */
export async function readModelHeader(path: string): Promise<ModelHeader> {
  const bytes = readFileBytes(path);
  const model = parseModel(bytes, path);
  const { graph } = model;
  const initialised = new Set(
    [...graph.initializer, ...graph.sparseInitializer.flatMap(({ values }) => values ?? [])].map(({ name }) => name),
  );
  const inputs = graph.input.filter(({ name }) => !initialised.has(name)).map((input) => inputSpec(input, path));
  const outputs = graph.output.map(outputSpec);
  const specs = outputs.filter((output): output is TensorSpec => "datatype" in output);
  const unsupportedOutputs = outputs.filter((output) => "reason" in output);
  if (specs.length === 0) {
    const [first] = unsupportedOutputs;
    throw new AssayError("MODEL_UNSUPPORTED", `${path}: no output can be read; "${first?.name}": ${first?.reason}`);
  }
  const constants = constantsOf(graph);
  const operators: Record<string, number> = {};
  for (const inner of graphsOf(graph)) {
    for (const { opType, domain } of inner.node) {
      const op = standard(domain) ? `${domain}:${opType}` : opType;
      operators[op] = (operators[op] ?? 0) + 1;
    }
  }
  const nodes = graph.node.map((node, index): NodeFacts => {
    const weight = constants.get(node.input[1] ?? "");
    const hasGraphs = node.attribute.some(({ g, graphs }) => g !== undefined || graphs.length > 0);
    return { name: nodeName(node, index), op: node.opType, domain: standard(node.domain), ...(weight && { weight }), hasGraphs };
  });
  const externalFiles = externalFilesOf(model, path);
  const own = createHash("sha256").update(bytes).digest("hex");
  const others = await Promise.all(
    externalFiles.map(async ({ location }) => [location, await digestFile(join(dirname(path), location))] as const),
  );
  const opsets = Object.fromEntries(model.opsetImport.map(({ domain, version }) => [standard(domain), Number(version)]));
  return {
    digest: others.length === 0 ? own : digestJson({ model: own, external: Object.fromEntries(others) }),
    bytes: externalFiles.reduce((sum, file) => sum + file.bytes, bytes.byteLength),
    irVersion: Number(model.irVersion),
    opset: opsets[""] ?? 0,
    opsets,
    inputs: inputs.map(({ spec }) => spec),
    outputs: specs,
    unsupportedOutputs,
    externalFiles,
    freeDimensions: inputs.filter(({ spec }) => spec.shape[0] === -1).map(({ spec, symbol }) => ({ input: spec.name, symbol })),
    operators: Object.fromEntries(Object.entries(operators).sort(([a], [b]) => (a < b ? -1 : 1))),
    nodes,
  };
}
