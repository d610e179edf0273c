/**
 * The route int8-static: weights int8 symmetric, activations uint8 (asymmetric) or int8 with ranges
 * from the calibration split, written as QuantizeLinear / DequantizeLinear pairs that the runtime
 * fuses. Biases become int32 with the product of both scales, so that the fused kernels take them.
 */
import { create } from "@bufbuild/protobuf";
import { TypeProto_TensorSchema, TypeProtoSchema, ValueInfoProtoSchema, type GraphProto, type NodeProto } from "onnx-buf";
import {
  addConstant,
  constantOf,
  floatsOf,
  freshName,
  nodeOf,
  onnxType,
  quantiseWeights,
  removeUnused,
  weightedNodes,
  type WeightBits,
} from "./graph.ts";

export interface StaticOptions {
  perChannel: boolean;
  activations: "uint8" | "int8";
  weightBits: WeightBits;
}
/** Smallest and largest value of each tensor over the calibration split. */
export type Ranges = ReadonlyMap<string, readonly [low: number, high: number]>;

const consumers = (graph: GraphProto, name: string): NodeProto[] => graph.node.filter(({ input }) => input.includes(name));

/** The activations that get a range: what enters a quantised operator, and what leaves a Conv or Gemm (after its Relu). */
export function activationsOf(graph: GraphProto): string[] {
  const outputs = new Set(graph.output.map(({ name }) => name));
  const found = new Set<string>();
  for (const { node, op } of weightedNodes(graph)) {
    found.add(node.input[0]!);
    if (op === "MatMul") continue;
    const y = node.output[0]!;
    const [next, ...more] = consumers(graph, y);
    const target = next?.opType === "Relu" && more.length === 0 && !outputs.has(y) ? next.output[0]! : y;
    if (!outputs.has(target)) found.add(target);
  }
  return [...found];
}

/** Adds those values to the outputs of the graph, so that a run over the calibration split shows them. */
export function exposeActivations(graph: GraphProto, names: readonly string[]): void {
  const known = new Set([...graph.output, ...graph.input].map(({ name }) => name));
  for (const name of names) {
    if (known.has(name)) continue;
    const tensor = create(TypeProto_TensorSchema, { elemType: onnxType.float });
    graph.output.push(
      create(ValueInfoProtoSchema, { name, type: create(TypeProtoSchema, { value: { case: "tensorType", value: tensor } }) }),
    );
  }
}

/** Scale and zero point of a range that is widened to hold 0. */
export function quantisationOf([low, high]: readonly [number, number], activations: "uint8" | "int8"): { scale: number; zero: number } {
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const scale = to === from ? 1 : Math.fround((to - from) / 255);
  const zero = Math.round(-from / scale) || 0;
  return { scale, zero: activations === "uint8" ? zero : zero - 128 };
}

/** Rewrites the graph in place; returns how many operators changed. */
export function quantiseStatically(graph: GraphProto, ranges: Ranges, { perChannel, activations, weightBits }: StaticOptions): number {
  const targets = weightedNodes(graph);
  const add = (name: string, type: number, dims: number[], data: ArrayBufferView): string => addConstant(graph, name, type, dims, data);
  const scaleOf = new Map<string, number>();
  const before = new Map<NodeProto, NodeProto[]>();
  const pairs: { name: string; nodes: NodeProto[]; result: string }[] = [];
  for (const name of activationsOf(graph)) {
    const range = ranges.get(name);
    if (!range) continue;
    const { scale, zero } = quantisationOf(range, activations);
    scaleOf.set(name, scale);
    const s = add(`${name}_scale`, onnxType.float, [], Float32Array.of(scale));
    const z =
      activations === "uint8"
        ? add(`${name}_zero`, onnxType.uint8, [], Uint8Array.of(zero))
        : add(`${name}_zero`, onnxType.int8, [], Int8Array.of(zero));
    const [q, result] = [freshName(graph, `${name}_q`), freshName(graph, `${name}_dq`)];
    pairs.push({ name, result, nodes: [nodeOf("QuantizeLinear", [name, s, z], [q]), nodeOf("DequantizeLinear", [q, s, z], [result])] });
  }
  const weightOf = new Map<string, { name: string; scales: Float32Array }>();
  let changed = 0;
  for (const target of targets) {
    const { node, op, dims, axis } = target;
    const xScale = scaleOf.get(node.input[0]!);
    if (xScale === undefined) continue;
    changed++;
    const own: NodeProto[] = [];
    const weightKey = `${node.input[1]!}:${axis}`;
    let made = weightOf.get(weightKey);
    if (!made) {
      const { data, scales } = quantiseWeights(target, perChannel, weightBits);
      const base = node.input[1]!;
      const w = add(`${base}_i8`, onnxType.int8, dims, data);
      const s = add(`${base}_i8_scale`, onnxType.float, perChannel ? [scales.length] : [], scales);
      const z = add(`${base}_i8_zero`, onnxType.int8, perChannel ? [scales.length] : [], new Int8Array(scales.length));
      const dq = freshName(graph, `${base}_dq`);
      own.push(nodeOf("DequantizeLinear", [w, s, z], [dq], perChannel ? { axis } : {}));
      weightOf.set(weightKey, (made = { name: dq, scales }));
    }
    node.input[1] = made.name;
    const bias = constantOf(graph, node.input[2] ?? "");
    const values = bias && floatsOf(bias);
    if (op !== "MatMul" && bias && values && bias.dims.length === 1) {
      const { scales } = made;
      const biasScale = Float32Array.from(perChannel ? values : [0], (_, i) => Math.fround(xScale * (scales[i] ?? scales[0]!)));
      const quantised = Int32Array.from(values, (value, i) =>
        Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.round(value / (biasScale[i] ?? biasScale[0]!)))),
      );
      const base = node.input[2]!;
      const b = add(`${base}_i32`, onnxType.int32, [values.length], quantised);
      const s = add(`${base}_i32_scale`, onnxType.float, perChannel ? [biasScale.length] : [], biasScale);
      const z = add(`${base}_i32_zero`, onnxType.int32, perChannel ? [biasScale.length] : [], new Int32Array(biasScale.length));
      const dq = freshName(graph, `${base}_dq`);
      own.push(nodeOf("DequantizeLinear", [b, s, z], [dq], perChannel ? { axis: 0 } : {}));
      node.input[2] = dq;
    }
    before.set(node, own);
  }
  // Consumers read the value after its pair; the pair itself reads the value.
  for (const { name, result } of pairs)
    for (const node of graph.node) node.input = node.input.map((input) => (input === name ? result : input));
  const placed: NodeProto[] = [];
  const open = new Map(pairs.map((pair) => [pair.name, pair.nodes]));
  const place = (name: string): void => {
    placed.push(...(open.get(name) ?? []));
    open.delete(name);
  };
  for (const { name } of graph.input) place(name);
  for (const node of graph.node) {
    placed.push(...(before.get(node) ?? []), node);
    for (const name of node.output) place(name);
  }
  graph.node = placed;
  removeUnused(graph);
  return changed;
}
