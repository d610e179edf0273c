/**
 * Raises a model's standard operator set to 13, the first with one scale a channel. Every operator whose
 * form changed between 7 and 13 is rewritten (onnx.ai, "Changelog"); one that cannot be is named with
 * the reason. The build then checks that the raised model answers as before.
 */
import { create } from "@bufbuild/protobuf";
import { AttributeProto_AttributeType, AttributeProtoSchema, type GraphProto, type ModelProto, type NodeProto } from "onnx-buf";
import type { Route } from "../../workload/index.ts";
import { JobFault } from "../worker.ts";
import { addConstant, attribute, constantOf, floatsOf, freshName, intAttribute, nodeOf, onnxType } from "./graph.ts";

const raisedOpset = 13;
/** Before it, operators broadcast by attributes. */
const oldestOpset = 7;

/** The operator set that a route's own operators need. */
export const neededOpset = (route: Route): number =>
  route.precision === "int8-dynamic" ? 11 : route.precision === "int8-static" ? (route.perChannel ? 13 : 10) : 0;

/** Operators that no rewriting makes the same, each with the reason. */
const stuck: Readonly<Record<string, string>> = {
  Scan: "its batch dimension went with operator set 9",
};

/** Why a model cannot be raised; null = it can, as far as its header tells. */
export function whyNotRaised(opset: number, nodes: readonly { name: string; op: string; domain: string }[]): string | null {
  if (opset < oldestOpset) return `operator set ${opset} is too old to be raised`;
  const found = opset < 9 ? nodes.find(({ op, domain }) => domain === "" && Object.hasOwn(stuck, op)) : undefined;
  return found ? `node "${found.name}" (${found.op}) cannot be raised: ${stuck[found.op]}` : null;
}

type Rewrite = (node: NodeProto, graph: GraphProto) => NodeProto[];

const without = (node: NodeProto, ...names: string[]): void => {
  node.attribute = node.attribute.filter(({ name }) => !names.includes(name));
};
const text = (name: string, value: string) =>
  create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.STRING, s: Buffer.from(value) });
const integers = (graph: GraphProto, wish: string, values: readonly number[]): string =>
  addConstant(graph, wish, onnxType.int64, [values.length], BigInt64Array.from(values, BigInt));
const scalar = (graph: GraphProto, wish: string, value: number): string =>
  addConstant(graph, wish, onnxType.float, [], Float32Array.of(value));
const label = (node: NodeProto): string => node.name || node.output[0] || node.opType;

/** Makes an attribute of whole numbers the input at that place; absent stays absent. */
const toInput =
  (name: string, place: number): Rewrite =>
  (node, graph) => {
    const found = attribute(node, name);
    if (!found) return [node];
    while (node.input.length < place) node.input.push("");
    node.input[place] = integers(graph, `${label(node)}_${name}`, found.ints.map(Number));
    without(node, name);
    return [node];
  };

/** From a slice of attributes to one of inputs. */
const slice: Rewrite = (node, graph) => {
  const starts = attribute(node, "starts");
  const ends = attribute(node, "ends");
  if (!starts || !ends) return [node];
  node.input.push(
    integers(graph, `${label(node)}_starts`, starts.ints.map(Number)),
    // Larger ends mean "to the end"; a Number keeps them no more exactly than that.
    addConstant(graph, `${label(node)}_ends`, onnxType.int64, [ends.ints.length], BigInt64Array.from(ends.ints)),
  );
  const axes = attribute(node, "axes");
  if (axes) node.input.push(integers(graph, `${label(node)}_axes`, axes.ints.map(Number)));
  without(node, "starts", "ends", "axes");
  return [node];
};

const clip: Rewrite = (node, graph) => {
  const [low, high] = [attribute(node, "min"), attribute(node, "max")];
  if (!low && !high) return [node];
  node.input.push(low ? scalar(graph, `${label(node)}_min`, low.f) : "");
  if (high) node.input.push(scalar(graph, `${label(node)}_max`, high.f));
  without(node, "min", "max");
  return [node];
};

const pad: Rewrite = (node, graph) => {
  const pads = attribute(node, "pads");
  if (!pads) return [node];
  node.input.push(integers(graph, `${label(node)}_pads`, pads.ints.map(Number)));
  const value = attribute(node, "value");
  if (value) node.input.push(scalar(graph, `${label(node)}_value`, value.f));
  without(node, "pads", "value");
  return [node];
};

const topK: Rewrite = (node, graph) => {
  const k = attribute(node, "k");
  if (k) node.input[1] = integers(graph, `${label(node)}_k`, [Number(k.i)]);
  without(node, "k");
  return [node];
};

const batchNormalization: Rewrite = (node) => {
  if (intAttribute(node, "spatial", 1) !== 1)
    throw new JobFault(
      "unsupported_op",
      `node "${label(node)}" (BatchNormalization) cannot be raised: spatial = 0 was dropped at operator set 9`,
    );
  without(node, "spatial");
  return [node];
};

/** Sizes times factors, the sampled place rounded down, as `Upsample` and the first `Resize` have it. */
const resize: Rewrite = (node, graph) => {
  if (node.opType === "Resize" && node.input.length !== 2) return [node];
  const scales = attribute(node, "scales");
  const from = scales
    ? addConstant(graph, `${label(node)}_scales`, onnxType.float, [scales.floats.length], Float32Array.from(scales.floats))
    : node.input[1]!;
  const known = constantOf(graph, from);
  if (node.opType === "Resize" && !(known && floatsOf(known)?.every((factor) => factor >= 1)))
    throw new JobFault(
      "unsupported_op",
      `node "${label(node)}" (Resize) cannot be raised: its first form rounds otherwise where it shrinks`,
    );
  node.opType = "Resize";
  node.input = [node.input[0]!, "", from];
  without(node, "scales");
  node.attribute.push(text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor"));
  return [node];
};

/** Number of dimensions of a value, where the graph tells it. */
function rankOf(graph: GraphProto, name: string): number | null {
  const type = [...graph.input, ...graph.valueInfo, ...graph.output].find((value) => value.name === name)?.type;
  return type?.value.case === "tensorType" ? (type.value.value.shape?.dim.length ?? null) : null;
}

/** Until 12 everything from the axis on was one row: flattened, done on the last axis, and given its shape again. */
const flattened: Rewrite = (node, graph) => {
  const axis = intAttribute(node, "axis", 1);
  const [input, output] = [node.input[0]!, node.output[0]!];
  without(node, "axis");
  if (axis === -1 || axis + 1 === (rankOf(graph, input) ?? rankOf(graph, output))) return [node];
  const [shape, flat, done] = ["shape", "flat", "done"].map((part) => freshName(graph, `${label(node)}_${part}`)) as [
    string,
    string,
    string,
  ];
  node.input = [flat];
  node.output = [done];
  return [
    nodeOf("Shape", [input], [shape]),
    nodeOf("Flatten", [input], [flat], { axis }),
    node,
    nodeOf("Reshape", [done, shape], [output]),
  ];
};

const rewrites: Readonly<Record<string, { before: number; rewrite: Rewrite }>> = {
  BatchNormalization: { before: 9, rewrite: batchNormalization },
  Upsample: { before: 10, rewrite: resize },
  Resize: { before: 11, rewrite: resize },
  Slice: { before: 10, rewrite: slice },
  TopK: { before: 10, rewrite: topK },
  Clip: { before: 11, rewrite: clip },
  Pad: { before: 11, rewrite: pad },
  Scatter: {
    before: 11,
    rewrite: (node) => {
      node.opType = "ScatterElements";
      return [node];
    },
  },
  Dropout: {
    before: 12,
    rewrite: (node) => {
      without(node, "ratio");
      return [node];
    },
  },
  Squeeze: { before: 13, rewrite: toInput("axes", 1) },
  Unsqueeze: { before: 13, rewrite: toInput("axes", 1) },
  Split: { before: 13, rewrite: toInput("split", 1) },
  ReduceSum: { before: 13, rewrite: toInput("axes", 1) },
  Softmax: { before: 13, rewrite: flattened },
  LogSoftmax: { before: 13, rewrite: flattened },
  Hardmax: { before: 13, rewrite: flattened },
};

function raiseGraph(graph: GraphProto, opset: number): void {
  graph.node = graph.node.flatMap((node) => {
    for (const { g, graphs } of node.attribute) for (const inner of g ? [g, ...graphs] : graphs) raiseGraph(inner, opset);
    const found = node.domain === "" || node.domain === "ai.onnx" ? rewrites[node.opType] : undefined;
    return found && opset < found.before ? found.rewrite(node, graph) : [node];
  });
}

/** Raises the model in place, to 13. Throws `unsupported_op` for a node that cannot be. */
export function raiseOpset(model: ModelProto & { graph: GraphProto }): void {
  const standard = model.opsetImport.find(({ domain }) => domain === "" || domain === "ai.onnx");
  const opset = Number(standard?.version ?? 0);
  if (!standard || opset >= raisedOpset) return;
  raiseGraph(model.graph, opset);
  standard.version = BigInt(raisedOpset);
  model.graph.valueInfo = [];
}
