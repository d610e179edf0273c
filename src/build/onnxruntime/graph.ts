/** Small tools on an ONNX graph: constants, new tensors and nodes, and who uses what. */
import { create } from "@bufbuild/protobuf";
import {
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TensorProtoSchema,
  type AttributeProto,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type TensorProto,
} from "onnx-buf";
import { dataOfBytes, dataTypeOfOnnx } from "../../tensor/index.ts";

export const onnxType = { float: 1, uint8: 2, int8: 3, int32: 6, int64: 7, float16: 10 } as const;

/** The constant of that name, an initialiser or a `Constant` node. */
export function constantOf(graph: GraphProto, name: string): TensorProto | null {
  if (name === "") return null;
  const initialiser = graph.initializer.find((tensor) => tensor.name === name);
  if (initialiser) return initialiser;
  const node = graph.node.find(({ opType, output }) => opType === "Constant" && output[0] === name);
  return node?.attribute.find((attribute) => attribute.name === "value")?.t ?? null;
}

/** The values of a float tensor; null when it is of another type. */
export function floatsOf(tensor: TensorProto): Float32Array | null {
  if (tensor.dataType !== onnxType.float) return null;
  if (tensor.rawData.byteLength > 0) return dataOfBytes(dataTypeOfOnnx(1)!, tensor.rawData) as Float32Array;
  return Float32Array.from(tensor.floatData);
}

export function tensorOf(name: string, type: number, dims: readonly number[], data: ArrayBufferView): TensorProto {
  const rawData = new Uint8Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer);
  return create(TensorProtoSchema, { name, dataType: type, dims: dims.map(BigInt), rawData });
}

export function attributeOf(name: string, value: number | readonly number[]): AttributeProto {
  return typeof value === "number"
    ? create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INT, i: BigInt(value) })
    : create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INTS, ints: value.map(BigInt) });
}

/** The runtime's own operators. A model that uses them must import the domain: `importMicrosoft`. */
export const microsoft = "com.microsoft";

export function importMicrosoft(model: ModelProto): void {
  const used = model.graph?.node.some(({ domain }) => domain === microsoft) ?? false;
  if (used && !model.opsetImport.some(({ domain }) => domain === microsoft))
    model.opsetImport.push(create(OperatorSetIdProtoSchema, { domain: microsoft, version: 1n }));
}

export function nodeOf(
  opType: string,
  input: string[],
  output: string[],
  attributes: Record<string, number | readonly number[]> = {},
  domain = "",
): NodeProto {
  return create(NodeProtoSchema, {
    opType,
    domain,
    name: `${opType}:${output[0]}`,
    input,
    output,
    attribute: Object.entries(attributes).map(([name, value]) => attributeOf(name, value)),
  });
}

export const attribute = (node: NodeProto, name: string): AttributeProto | undefined => node.attribute.find((one) => one.name === name);
export const intAttribute = (node: NodeProto, name: string, otherwise: number): number => Number(attribute(node, name)?.i ?? otherwise);
export const floatAttribute = (node: NodeProto, name: string, otherwise: number): number => attribute(node, name)?.f ?? otherwise;

/** A name that no value of the graph has. */
export function freshName(graph: GraphProto, wish: string): string {
  const taken = (name: string): boolean =>
    graph.initializer.some((tensor) => tensor.name === name) ||
    graph.node.some(({ input, output }) => input.includes(name) || output.includes(name));
  let name = wish;
  for (let i = 1; taken(name); i++) name = `${wish}_${i}`;
  return name;
}

/** Adds a constant under a name like that; returns the name. */
export function addConstant(graph: GraphProto, wish: string, type: number, dims: readonly number[], data: ArrayBufferView): string {
  const name = freshName(graph, wish);
  graph.initializer.push(tensorOf(name, type, dims, data));
  return name;
}

/** Takes out initialisers and Constant nodes that nobody uses any more; graphs within nodes count as users. */
export function removeUnused(graph: GraphProto): void {
  const used = new Set(graph.output.map(({ name }) => name));
  const visit = (inner: GraphProto): void => {
    for (const node of inner.node) {
      for (const name of node.input) used.add(name);
      for (const { g, graphs } of node.attribute) for (const deeper of [...(g ? [g] : []), ...graphs]) visit(deeper);
    }
    for (const { name } of inner.output) used.add(name);
  };
  visit(graph);
  graph.initializer = graph.initializer.filter(({ name }) => used.has(name));
  graph.node = graph.node.filter(({ opType, output }) => opType !== "Constant" || used.has(output[0]!));
}

export interface WeightedNode {
  node: NodeProto;
  op: "Conv" | "Gemm" | "MatMul";
  weight: TensorProto;
  values: Float32Array;
  dims: number[];
  /** Axis of the output channels in the weights. */
  axis: number;
}

/** Conv, Gemm and MatMul of the main graph whose second input is a constant float tensor and whose first is not constant. */
export function weightedNodes(graph: GraphProto): WeightedNode[] {
  return graph.node.flatMap((node): WeightedNode[] => {
    const op = node.opType;
    if ((op !== "Conv" && op !== "Gemm" && op !== "MatMul") || node.domain !== "") return [];
    const weight = constantOf(graph, node.input[1] ?? "");
    const values = weight && floatsOf(weight);
    if (!values || !weight || weight.dims.length < 2 || constantOf(graph, node.input[0]!)) return [];
    if (
      op === "Gemm" &&
      (floatAttribute(node, "alpha", 1) !== 1 || floatAttribute(node, "beta", 1) !== 1 || intAttribute(node, "transA", 0) !== 0)
    )
      return [];
    const dims = weight.dims.map(Number);
    if (op === "MatMul" && dims.length !== 2) return [];
    const axis = op === "Conv" || (op === "Gemm" && intAttribute(node, "transB", 0) === 1) ? 0 : 1;
    return [{ node, op, weight, values, dims, axis }];
  });
}

/** 7 keeps weights within ±63: x86 cores without VNNI add pairs of products in 16 bits, which ±127 overflows. */
export type WeightBits = 7 | 8;

/** int8 weights, symmetric: one scale a channel of `axis`, or one for all. */
export function quantiseWeights(
  { values, dims, axis }: WeightedNode,
  perChannel: boolean,
  bits: WeightBits,
): { data: Int8Array; scales: Float32Array } {
  const channels = perChannel ? dims[axis]! : 1;
  const most = bits === 8 ? 127 : 63;
  const inner = dims.slice(axis + 1).reduce((product, size) => product * size, 1);
  const channelOf = (i: number): number => (perChannel ? Math.floor(i / inner) % channels : 0);
  const scales = new Float32Array(channels);
  for (let i = 0; i < values.length; i++) scales[channelOf(i)] = Math.max(scales[channelOf(i)]!, Math.abs(values[i]!));
  for (let c = 0; c < channels; c++) scales[c] = scales[c] === 0 ? 1 : scales[c]! / most;
  return { data: Int8Array.from(values, (value, i) => Math.max(-most, Math.min(most, Math.round(value / scales[channelOf(i)]!)))), scales };
}
