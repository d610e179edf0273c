/**
 * The route int8-dynamic: weights int8, activations quantised at run time over the whole tensor, so
 * that an answer depends on its neighbours in the batch. Products in int32, then back to float.
 */
import type { GraphProto, NodeProto } from "onnx-buf";
import {
  addConstant,
  constantOf,
  floatsOf,
  freshName,
  intAttribute,
  nodeOf,
  onnxType,
  quantiseWeights,
  removeUnused,
  weightedNodes,
  type WeightBits,
  type WeightedNode,
} from "./graph.ts";

function transpose(data: Int8Array, rows: number, columns: number): Int8Array {
  const out = new Int8Array(data.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = data[r * columns + c]!;
  return out;
}

/** Rewrites the graph in place; returns how many operators changed. */
export function quantiseDynamically(graph: GraphProto, operators: "all" | "matmul", weightBits: WeightBits): number {
  const targets = new Map(
    weightedNodes(graph)
      .filter(({ op }) => operators === "all" || op !== "Conv")
      .map((target) => [target.node, target]),
  );
  const quantised = new Map<string, { q: string; scale: string; zero: string }>();
  const nodes: NodeProto[] = [];
  const add = (name: string, type: number, dims: number[], data: ArrayBufferView): string => addConstant(graph, name, type, dims, data);
  const quantise = (x: string): { q: string; scale: string; zero: string } => {
    const known = quantised.get(x);
    if (known) return known;
    const made = { q: freshName(graph, `${x}_q8`), scale: freshName(graph, `${x}_q8_scale`), zero: freshName(graph, `${x}_q8_zero`) };
    nodes.push(nodeOf("DynamicQuantizeLinear", [x], [made.q, made.scale, made.zero]));
    quantised.set(x, made);
    return made;
  };
  const rewrite = (target: WeightedNode): void => {
    const { node, op, dims, weight } = target;
    const [x, , bias] = node.input as [string, string, string | undefined];
    const y = node.output[0]!;
    const { q, scale, zero } = quantise(x);
    const { data, scales } = quantiseWeights(target, op !== "Conv", weightBits);
    const flipped = op === "Gemm" && intAttribute(node, "transB", 0) === 1;
    const [rows, columns] = dims as [number, number];
    const w = flipped
      ? add(`${weight.name}_i8`, onnxType.int8, [columns, rows], transpose(data, rows, columns))
      : add(`${weight.name}_i8`, onnxType.int8, dims, data);
    const channels = scales.length;
    const wScale = add(`${weight.name}_i8_scale`, onnxType.float, op === "Conv" ? [] : [channels], scales);
    const wZero = add(`${weight.name}_i8_zero`, onnxType.int8, op === "Conv" ? [] : [channels], new Int8Array(channels));
    const product = freshName(graph, `${y}_i32`);
    const both = nodeOf(op === "Conv" ? "ConvInteger" : "MatMulInteger", [q, w, zero, wZero], [product]);
    if (op === "Conv") both.attribute = node.attribute;
    const hasBias = bias !== undefined && bias !== "";
    const [float, factor, scaled] = [`${y}_f32`, `${y}_factor`, hasBias ? `${y}_scaled` : y].map((name) =>
      name === y ? y : freshName(graph, name),
    ) as [string, string, string];
    nodes.push(
      both,
      nodeOf("Cast", [product], [float], { to: onnxType.float }),
      nodeOf("Mul", [scale, wScale], [factor]),
      nodeOf("Mul", [float, factor], [scaled]),
    );
    if (!hasBias) return;
    const constant = op === "Conv" ? constantOf(graph, bias) : null;
    const shaped = constant
      ? add(`${bias}_shaped`, onnxType.float, [1, Number(constant.dims[0]), ...dims.slice(2).map(() => 1)], floatsOf(constant)!)
      : bias;
    nodes.push(nodeOf("Add", [scaled, shaped], [y]));
  };
  for (const node of graph.node) {
    const target = targets.get(node);
    // A Conv whose bias is no constant float keeps its form.
    const bias = node.input[2];
    const bound = node.opType !== "Conv" || !bias || (constantOf(graph, bias) && floatsOf(constantOf(graph, bias)!));
    if (target && bound) rewrite(target);
    else {
      targets.delete(node);
      nodes.push(node);
    }
  }
  graph.node = nodes;
  removeUnused(graph);
  return targets.size;
}
