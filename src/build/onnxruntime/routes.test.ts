import { create } from "@bufbuild/protobuf";
import { GraphProtoSchema, ValueInfoProtoSchema, type GraphProto } from "onnx-buf";
import { describe, expect, it } from "vitest";
import { halfOf } from "./float16.ts";
import { nodeOf, onnxType, quantiseWeights, tensorOf, weightedNodes } from "./graph.ts";
import { quantisationOf, quantiseStatically } from "./int8-static.ts";

describe("half precision", () => {
  it.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [1e9, 0x7bff],
    [0.1, 0x2e66],
    [2 ** -24, 0x0001],
    [2 ** -26, 0x0000],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
  ])("of %d is the nearest, ties to even, never infinite", (value, bits) => expect(halfOf(value)).toBe(bits));
});

describe("quantisation", () => {
  it("of a range holds 0 exactly: −1…3 in 255 steps", () => {
    expect(quantisationOf([-1, 3], "uint8")).toEqual({ scale: Math.fround(4 / 255), zero: 64 });
    expect(quantisationOf([0, 6], "uint8").zero).toBe(0);
    expect(quantisationOf([0, 6], "int8").zero).toBe(-128);
    expect(quantisationOf([2, 6], "uint8")).toEqual(quantisationOf([0, 6], "uint8"));
  });
  /** Two MatMuls whose weights are constants of the same inner name. */
  const graph = (): GraphProto => {
    const weights = (name: string, values: number[]) => {
      const node = nodeOf("Constant", [], [name]);
      node.attribute.push({
        ...nodeOf("X", [], ["x"], { value: 1 }).attribute[0]!,
        name: "value",
        t: tensorOf("value", onnxType.float, [2, 1], Float32Array.from(values)),
      });
      return node;
    };
    return create(GraphProtoSchema, {
      node: [weights("w1", [1, -0.25]), weights("w2", [8, 4]), nodeOf("MatMul", ["x", "w1"], ["a"]), nodeOf("MatMul", ["x", "w2"], ["b"])],
      output: ["a", "b"].map((name) => create(ValueInfoProtoSchema, { name })),
    });
  };
  it("of weights is symmetric: the largest becomes 127, or 63 with seven bits", () => {
    const [first] = weightedNodes(graph());
    expect(Array.from(quantiseWeights(first!, false, 8).data)).toEqual([127, -32]);
    expect(Array.from(quantiseWeights(first!, false, 7).data)).toEqual([63, -16]);
  });
  it("keeps constants apart that have the same inner name", () => {
    const own = graph();
    expect(quantiseStatically(own, new Map([["x", [0, 1]]]), { perChannel: false, activations: "uint8", weightBits: 8 })).toBe(2);
    const scales = own.initializer
      .filter(({ name }) => name.endsWith("_i8_scale"))
      .map(({ rawData }) => new Float32Array(new Uint8Array(rawData).buffer)[0]!);
    expect(scales.map((scale) => Number((scale * 127).toFixed(4)))).toEqual([1, 8]);
  });
});
