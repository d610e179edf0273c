import { create, toBinary } from "@bufbuild/protobuf";
import {
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  OperatorSetIdProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
  type GraphProto,
  type ModelProto,
  type NodeProto,
} from "onnx-buf";
import { describe, expect, it } from "vitest";
import { openOnnxSession } from "../../artifact/index.ts";
import { defaultSession } from "../../workload/index.ts";
import { nodeOf, onnxType, tensorOf } from "./graph.ts";
import { raiseOpset, whyNotRaised } from "./opset.ts";

const value = (name: string, dims: number[] | null) =>
  create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, {
      value: {
        case: "tensorType",
        value: create(TypeProto_TensorSchema, {
          elemType: 1,
          ...(dims && {
            shape: create(TensorShapeProtoSchema, {
              dim: dims.map((size) => create(TensorShapeProto_DimensionSchema, { value: { case: "dimValue", value: BigInt(size) } })),
            }),
          }),
        }),
      },
    }),
  });
const float = (name: string, f: number) => create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.FLOAT, f });
const floats = (name: string, some: number[]) =>
  create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.FLOATS, floats: some });
const text = (name: string, s: string) =>
  create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.STRING, s: Buffer.from(s) });
const and = (node: NodeProto, ...attributes: NodeProto["attribute"]): NodeProto => {
  node.attribute.push(...attributes);
  return node;
};

/** x [2, 3, 4] → the last node's output, called y. */
const shape = [2, 3, 4];
function model(opset: number, nodes: NodeProto[], constants: GraphProto["initializer"] = []): ModelProto & { graph: GraphProto } {
  return create(ModelProtoSchema, {
    irVersion: 7n,
    opsetImport: [create(OperatorSetIdProtoSchema, { domain: "", version: BigInt(opset) })],
    graph: create(GraphProtoSchema, {
      name: "g",
      node: nodes,
      initializer: constants,
      input: [value("x", shape)],
      output: [value("y", null)],
    }),
  }) as ModelProto & { graph: GraphProto };
}
const x = Float32Array.from({ length: 24 }, (_, i) => Math.sin(i * 1.7) * 3);
async function answer(some: ModelProto) {
  const session = await openOnnxSession(toBinary(ModelProtoSchema, some), defaultSession(1), ["y"]);
  const y = session.runNow(new Map([["x", { datatype: "FP32", shape, data: x }]])).get("y")!;
  await session.close();
  return { shape: [...y.shape], data: [...(y.data as Float32Array)] };
}

const indices = tensorOf("i", onnxType.int64, [2, 3, 1], BigInt64Array.of(3n, 0n, 1n, 2n, 2n, 3n));
const updates = tensorOf("u", onnxType.float, [2, 3, 1], Float32Array.of(1, 2, 3, 4, 5, 6));
const ones = (name: string, from: number) => tensorOf(name, onnxType.float, [3], Float32Array.of(from, from + 0.5, from + 1));

describe("a model raised to operator set 13 answers as before", () => {
  it.each<[string, number, () => NodeProto[], GraphProto["initializer"]?]>([
    ["Softmax over all from the second dimension", 9, () => [nodeOf("Softmax", ["x"], ["y"])]],
    ["Softmax over the last", 11, () => [nodeOf("Softmax", ["x"], ["y"], { axis: 2 })]],
    ["LogSoftmax of everything", 12, () => [nodeOf("LogSoftmax", ["x"], ["y"], { axis: 0 })]],
    ["Hardmax", 9, () => [nodeOf("Hardmax", ["x"], ["y"], { axis: 1 })]],
    ["Clip", 9, () => [and(nodeOf("Clip", ["x"], ["y"]), float("min", -1), float("max", 0.5))]],
    ["Clip with an upper end only", 7, () => [and(nodeOf("Clip", ["x"], ["y"]), float("max", 0.5))]],
    ["Pad", 9, () => [and(nodeOf("Pad", ["x"], ["y"], { pads: [0, 1, 0, 0, 0, 2] }), float("value", 7))]],
    ["Pad by reflection", 10, () => [and(nodeOf("Pad", ["x"], ["y"], { pads: [0, 0, 1, 0, 0, 2] }), text("mode", "reflect"))]],
    ["Slice", 9, () => [nodeOf("Slice", ["x"], ["y"], { starts: [1, -2], ends: [3, 99], axes: [1, 2] })]],
    ["Slice of the first dimensions", 8, () => [nodeOf("Slice", ["x"], ["y"], { starts: [0, 1], ends: [1, 3] })]],
    ["TopK", 9, () => [nodeOf("TopK", ["x"], ["y", "at"], { k: 2, axis: 1 })]],
    ["Dropout", 10, () => [and(nodeOf("Dropout", ["x"], ["y"]), float("ratio", 0.9))]],
    [
      "Unsqueeze and Squeeze",
      12,
      () => [nodeOf("Unsqueeze", ["x"], ["w"], { axes: [0, 2] }), nodeOf("Squeeze", ["w"], ["y"], { axes: [2] })],
    ],
    ["Squeeze of every single dimension", 9, () => [nodeOf("Unsqueeze", ["x"], ["w"], { axes: [1] }), nodeOf("Squeeze", ["w"], ["y"])]],
    ["Split", 9, () => [nodeOf("Split", ["x"], ["a", "y"], { axis: 2, split: [1, 3] })]],
    ["ReduceSum", 11, () => [nodeOf("ReduceSum", ["x"], ["y"], { axes: [0, 2], keepdims: 0 })]],
    ["ReduceSum of everything", 9, () => [nodeOf("ReduceSum", ["x"], ["y"])]],
    ["Scatter", 9, () => [nodeOf("Scatter", ["x", "i", "u"], ["y"], { axis: 2 })], [indices, updates]],
    [
      "BatchNormalization",
      8,
      () => [nodeOf("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], { spatial: 1 })],
      [ones("s", 1), ones("b", -1), ones("m", 0.2), ones("v", 2)],
    ],
    ["Upsample", 8, () => [and(nodeOf("Upsample", ["x"], ["y"]), floats("scales", [1, 1.5, 2]), text("mode", "nearest"))]],
    [
      "Upsample by an input",
      9,
      () => [and(nodeOf("Upsample", ["x", "k"], ["y"]), text("mode", "nearest"))],
      [tensorOf("k", onnxType.float, [3], Float32Array.of(1, 2, 3))],
    ],
    [
      "the first Resize",
      10,
      () => [and(nodeOf("Resize", ["x", "k"], ["y"]), text("mode", "nearest"))],
      [tensorOf("k", onnxType.float, [3], Float32Array.of(1, 1, 2.5))],
    ],
  ])("with %s", async (_, opset, nodes, constants) => {
    const before = await answer(model(opset, nodes(), constants));
    const raised = model(opset, nodes(), constants);
    raiseOpset(raised);
    expect(Number(raised.opsetImport[0]!.version)).toBe(13);
    expect(await answer(raised)).toEqual(before);
  });

  it("or names the node that cannot be, with the reason", () => {
    expect(whyNotRaised(6, [])).toMatch(/operator set 6 is too old/);
    expect(whyNotRaised(8, [{ name: "loop", op: "Scan", domain: "" }])).toMatch(/"loop" \(Scan\)/);
    expect(whyNotRaised(9, [{ name: "loop", op: "Scan", domain: "" }])).toBeNull();
    const shrinks = model(10, [nodeOf("Resize", ["x", "k"], ["y"])], [tensorOf("k", onnxType.float, [3], Float32Array.of(1, 1, 0.5))]);
    expect(() => raiseOpset(shrinks)).toThrow(/"Resize:y" \(Resize\) cannot be raised/);
  });
});
