import { create } from "@bufbuild/protobuf";
import { GraphProtoSchema, ValueInfoProtoSchema, type GraphProto } from "onnx-buf";
import { describe, expect, it } from "vitest";
import { blockWeights } from "./block-weights.ts";
import { halfOf } from "./float16.ts";
import { nodeOf, onnxType, quantiseWeights, tensorOf, weightedNodes } from "./graph.ts";
import { addTo, createHistogram, entropyRange, percentileRange } from "./ranges.ts";
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
    const [unsigned, signed] = (["uint8", "int8"] as const).map((activations) => ({ activations, symmetric: false }));
    expect(quantisationOf([-1, 3], unsigned!)).toEqual({ scale: Math.fround(4 / 255), zero: 64 });
    expect(quantisationOf([0, 6], unsigned!).zero).toBe(0);
    expect(quantisationOf([0, 6], signed!).zero).toBe(-128);
    expect(quantisationOf([2, 6], unsigned!)).toEqual(quantisationOf([0, 6], unsigned!));
    expect(quantisationOf([-1, 3], { ...unsigned!, symmetric: true })).toEqual({ scale: Math.fround(3 / 127), zero: 128 });
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
    const options = {
      perChannel: false,
      activations: "uint8",
      symmetric: false,
      operators: "all",
      calibration: "minmax",
      form: "qdq",
      weightBits: 8,
    } as const;
    expect(quantiseStatically(own, new Map([["x", [0, 1]]]), options)).toBe(2);
    const scales = own.initializer
      .filter(({ name }) => name.endsWith("_i8_scale"))
      .map(({ rawData }) => new Float32Array(new Uint8Array(rawData).buffer)[0]!);
    expect(scales.map((scale) => Number((scale * 127).toFixed(4)))).toEqual([1, 8]);
  });
});

describe("block-wise weights", () => {
  it("take the value farthest from 0 for the lowest step: 4 bits, two columns of three rows", () => {
    const columns = [
      [8, -4, 0],
      [-1, 0.5, 0.25],
    ];
    const { packed, scales, blocks } = blockWeights(2, 3, 4, (column, row) => columns[column]![row]!);
    expect(blocks).toBe(1);
    expect(Array.from(scales)).toEqual([-1, 0.125]);
    // 8/−1 + 8 = 0, −4/−1 + 8 = 12, 0 → 8 (and 8 where nothing is); −1/0.125 + 8 = 0, 12, 10.
    expect(Array.from(packed.subarray(0, 3))).toEqual([0 | (12 << 4), 8 | (8 << 4), 0x88]);
    expect(Array.from(packed.subarray(16, 18))).toEqual([0 | (12 << 4), 10 | (8 << 4)]);
  });
  it("begin a new block after 32 rows", () => {
    const { scales, packed } = blockWeights(1, 33, 8, (_, row) => (row === 32 ? 256 : 1));
    expect(Array.from(scales)).toEqual([Math.fround(1 / -128), -2]);
    expect([packed[0], packed[32], packed[33]]).toEqual([0, 0, 128]);
  });
});

describe("calibration ranges", () => {
  const histogramOf = (range: [number, number], values: number[]) => {
    const histogram = createHistogram(range);
    addTo(histogram, values);
    return histogram;
  };
  it("by percentile leave out 0.005 % at either end", () => {
    // 100,000 values even over −1…1 and five far out: the cut is at the fifth from the end.
    const values = Array.from({ length: 100_000 }, (_, i) => -1 + (2 * i) / 99_999);
    const [low, high] = percentileRange(histogramOf([-1, 99], [...values, 99, 98, 97, 96, 95]));
    expect(low).toBe(-1);
    expect(high).toBeLessThan(1.2);
    expect(high).toBeGreaterThan(0.95);
  });
  it("by entropy cut a thin tail, and keep an even distribution whole", () => {
    const even = Array.from({ length: 20_480 }, (_, i) => (i % 2048) / 2047);
    expect(entropyRange(histogramOf([0, 1], even))[1]).toBeGreaterThan(0.9);
    // Exponential magnitudes, mean 1, and one value far out: 128 steps are better spent on the bulk.
    const bulk = Array.from({ length: 20_000 }, (_, i) => -Math.log((i + 0.5) / 20_000));
    const [low, high] = entropyRange(histogramOf([0, 60], [...bulk, 60]));
    expect(low).toBe(0);
    expect(high).toBeGreaterThan(3);
    expect(high).toBeLessThan(20);
  });
  it("of a single value are that value", () => {
    expect(entropyRange(histogramOf([0, 0], [0, 0]))).toEqual([0, 0]);
    expect(percentileRange(histogramOf([3, 3], [3, 3]))).toEqual([3, 3]);
  });
});
