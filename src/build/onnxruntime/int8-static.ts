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
  type WeightedNode,
} from "./graph.ts";
import type { Range } from "./ranges.ts";
import type { StaticRoute } from "../../workload/index.ts";

export type StaticOptions = Omit<StaticRoute, "precision"> & { weightBits: WeightBits };
/** Smallest and largest value of each tensor over the calibration split. */
export type Ranges = ReadonlyMap<string, Range>;

export const targetsOf = (graph: GraphProto, operators: StaticRoute["operators"]): WeightedNode[] =>
  weightedNodes(graph).filter(({ op }) => operators === "all" || op !== "Conv");

export const consumers = (graph: GraphProto, name: string): NodeProto[] => graph.node.filter(({ input }) => input.includes(name));

/** The activations that get a range: what enters a quantised operator, and what leaves a Conv or Gemm (after its Relu). */
export function activationsOf(graph: GraphProto, operators: StaticRoute["operators"]): string[] {
  const outputs = new Set(graph.output.map(({ name }) => name));
  const found = new Set<string>();
  for (const { node, op } of targetsOf(graph, operators)) {
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

/** Scale and zero point of a range that is widened to hold 0, and for a symmetric one to reach as far to both sides. */
export function quantisationOf(
  [low, high]: Range,
  { activations, symmetric }: Pick<StaticRoute, "activations" | "symmetric">,
): { scale: number; zero: number } {
  if (symmetric) {
    const reach = Math.max(Math.abs(low), Math.abs(high));
    return { scale: reach === 0 ? 1 : Math.fround(reach / 127), zero: activations === "uint8" ? 128 : 0 };
  }
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const scale = to === from ? 1 : Math.fround((to - from) / 255);
  const zero = Math.round(-from / scale) || 0;
  return { scale, zero: activations === "uint8" ? zero : zero - 128 };
}

/** Names of a quantised constant, its scale and its zero point. */
export interface QuantisedConstant {
  data: string;
  scale: string;
  zero: string;
}

/** Makes the int8 weights and int32 biases of operators; each weight once. */
export function createConstants(graph: GraphProto, { perChannel, weightBits }: Pick<StaticOptions, "perChannel" | "weightBits">) {
  const made = new Map<string, QuantisedConstant & { scales: Float32Array }>();
  const weight = (target: WeightedNode): QuantisedConstant & { scales: Float32Array } => {
    const base = target.node.input[1]!;
    const key = `${base}:${target.axis}`;
    let found = made.get(key);
    if (!found) {
      const { data, scales } = quantiseWeights(target, perChannel, weightBits);
      const shape = perChannel ? [scales.length] : [];
      found = {
        scales,
        data: addConstant(graph, `${base}_i8`, onnxType.int8, target.dims, data),
        scale: addConstant(graph, `${base}_i8_scale`, onnxType.float, shape, scales),
        zero: addConstant(graph, `${base}_i8_zero`, onnxType.int8, shape, new Int8Array(perChannel ? scales.length : 1)),
      };
      made.set(key, found);
    }
    return found;
  };
  /** The bias in int32 with the product of both scales; null where it is no constant float vector. */
  const bias = (target: WeightedNode, xScale: number): QuantisedConstant | null => {
    const { node, op } = target;
    const base = node.input[2] ?? "";
    const constant = op === "MatMul" ? null : constantOf(graph, base);
    const values = constant && floatsOf(constant);
    if (!constant || !values || constant.dims.length !== 1) return null;
    const { scales } = weight(target);
    const biasScale = Float32Array.from(perChannel ? values : [0], (_, i) => Math.fround(xScale * (scales[i] ?? scales[0]!)));
    const quantised = Int32Array.from(values, (value, i) =>
      Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.round(value / (biasScale[i] ?? biasScale[0]!)))),
    );
    const shape = perChannel ? [biasScale.length] : [];
    return {
      data: addConstant(graph, `${base}_i32`, onnxType.int32, [values.length], quantised),
      scale: addConstant(graph, `${base}_i32_scale`, onnxType.float, shape, biasScale),
      zero: addConstant(graph, `${base}_i32_zero`, onnxType.int32, shape, new Int32Array(perChannel ? biasScale.length : 1)),
    };
  };
  return { weight, bias };
}

/** Rewrites the graph in place; returns how many operators changed. */
export function quantiseStatically(graph: GraphProto, ranges: Ranges, options: StaticOptions): number {
  const { perChannel, activations, operators } = options;
  const targets = targetsOf(graph, operators);
  const add = (name: string, type: number, dims: number[], data: ArrayBufferView): string => addConstant(graph, name, type, dims, data);
  const scaleOf = new Map<string, number>();
  const before = new Map<NodeProto, NodeProto[]>();
  const pairs: { name: string; nodes: NodeProto[]; result: string }[] = [];
  for (const name of activationsOf(graph, operators)) {
    const range = ranges.get(name);
    if (!range) continue;
    const { scale, zero } = quantisationOf(range, options);
    scaleOf.set(name, scale);
    const s = add(`${name}_scale`, onnxType.float, [], Float32Array.of(scale));
    const z =
      activations === "uint8"
        ? add(`${name}_zero`, onnxType.uint8, [], Uint8Array.of(zero))
        : add(`${name}_zero`, onnxType.int8, [], Int8Array.of(zero));
    const [q, result] = [freshName(graph, `${name}_q`), freshName(graph, `${name}_dq`)];
    pairs.push({ name, result, nodes: [nodeOf("QuantizeLinear", [name, s, z], [q]), nodeOf("DequantizeLinear", [q, s, z], [result])] });
  }
  const constants = createConstants(graph, options);
  const dequantised = new Map<string, string>();
  let changed = 0;
  for (const target of targets) {
    const { node, axis } = target;
    const xScale = scaleOf.get(node.input[0]!);
    if (xScale === undefined) continue;
    changed++;
    const own: NodeProto[] = [];
    const restore = ({ data, scale, zero }: QuantisedConstant, base: string, along: number): string => {
      const known = dequantised.get(data);
      if (known) return known;
      const dq = freshName(graph, `${base}_dq`);
      own.push(nodeOf("DequantizeLinear", [data, scale, zero], [dq], perChannel ? { axis: along } : {}));
      dequantised.set(data, dq);
      return dq;
    };
    const weight = constants.weight(target);
    const bias = constants.bias(target, xScale);
    node.input[1] = restore(weight, node.input[1]!, axis);
    if (bias) node.input[2] = restore(bias, node.input[2]!, 0);
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
