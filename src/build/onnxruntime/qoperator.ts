/**
 * The route int8-static in the form `qoperator`: the runtime's fused operators written out
 * (QLinearConv, QGemm, MatMulIntegerToFloat) instead of pairs that it must find and fuse.
 */
import type { GraphProto, NodeProto } from "onnx-buf";
import { addConstant, freshName, intAttribute, microsoft, nodeOf, onnxType, removeUnused } from "./graph.ts";
import { consumers, createConstants, quantisationOf, targetsOf, type Ranges, type StaticOptions } from "./int8-static.ts";

interface Quantised {
  name: string;
  scale: string;
  zero: string;
  scaleValue: number;
  zeroValue: number;
}

/** Rewrites the graph in place; returns how many operators changed. */
export function quantiseToOperators(graph: GraphProto, ranges: Ranges, options: StaticOptions): number {
  const { activations, operators } = options;
  const targets = new Map(targetsOf(graph, operators).map((target) => [target.node, target]));
  const constants = createConstants(graph, options);
  const outputs = new Set(graph.output.map(({ name }) => name));
  const lowest = activations === "uint8" ? 0 : -128;
  const quantised = new Map<string, Quantised>();
  const placed: NodeProto[] = [];
  const dropped = new Set<NodeProto>();
  let changed = 0;

  const describe = (name: string): Omit<Quantised, "name"> | null => {
    const range = ranges.get(name);
    if (!range) return null;
    const { scale, zero } = quantisationOf(range, options);
    const point = activations === "uint8" ? Uint8Array.of(zero) : Int8Array.of(zero);
    return {
      scaleValue: scale,
      zeroValue: zero,
      scale: addConstant(graph, `${name}_scale`, onnxType.float, [], Float32Array.of(scale)),
      zero: addConstant(graph, `${name}_zero`, onnxType[activations], [], point),
    };
  };
  const quantise = (name: string): Quantised | null => {
    const known = quantised.get(name);
    if (known) return known;
    const described = describe(name);
    if (!described) return null;
    const made = { ...described, name: freshName(graph, `${name}_q`) };
    placed.push(nodeOf("QuantizeLinear", [name, made.scale, made.zero], [made.name]));
    quantised.set(name, made);
    return made;
  };
  /** The value that a Conv hands on: after its Relu where that is its only user. */
  const handedOn = (y: string): { target: string; relu: NodeProto | null } => {
    const [next, ...more] = consumers(graph, y);
    const relu = next?.opType === "Relu" && more.length === 0 && !outputs.has(y) ? next : null;
    return { target: relu?.output[0] ?? y, relu };
  };

  for (const node of graph.node) {
    if (dropped.has(node)) continue;
    const target = targets.get(node);
    const y = node.output[0]!;
    const { target: result, relu } = handedOn(y);
    const y8 = target?.op === "Conv" ? describe(result) : null;
    const x = target && (target.op !== "Conv" || y8) ? quantise(node.input[0]!) : null;
    const w = target && x ? constants.weight(target) : null;
    const bias = target && x ? constants.bias(target, x.scaleValue) : null;
    const bound = !node.input[2] || bias !== null || target?.op === "MatMul";
    if (!target || !x || !w || !bound) {
      placed.push(node);
      continue;
    }
    changed++;
    if (target.op === "MatMul") {
      placed.push(nodeOf("MatMulIntegerToFloat", [x.name, w.data, x.scale, w.scale, x.zero, w.zero], [y], {}, microsoft));
    } else if (target.op === "Gemm") {
      const transB = intAttribute(node, "transB", 0);
      const inputs = [x.name, x.scale, x.zero, w.data, w.scale, w.zero, ...(bias ? [bias.data] : [])];
      placed.push(nodeOf("QGemm", inputs, [y], { transB }, microsoft));
    } else if (y8) {
      // Where the type's lowest step stands for 0, clamping to it is the Relu.
      const fused = relu !== null && y8.zeroValue === lowest;
      const q = freshName(graph, `${result}_q`);
      const conv = nodeOf(
        "QLinearConv",
        [x.name, x.scale, x.zero, w.data, w.scale, w.zero, y8.scale, y8.zero, ...(bias ? [bias.data] : [])],
        [q],
      );
      conv.attribute = node.attribute;
      placed.push(conv, nodeOf("DequantizeLinear", [q, y8.scale, y8.zero], [fused ? result : y]));
      if (fused) dropped.add(relu);
      if (fused || !relu) quantised.set(result, { ...y8, name: q });
    }
  }
  graph.node = placed;
  removeUnused(graph);
  return changed;
}
