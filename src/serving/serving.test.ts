import { describe, expect, it } from "vitest";
import type { Tensor } from "../tensor/index.ts";
import { createBatcher, type Answer, type Batcher, type Tensors } from "./batcher.ts";
import { encodeAnswer, parseInfer, type ModelInterface } from "./protocol.ts";

/** A batcher whose turns are called by hand, over a model that doubles. */
function byHand(run: (inputs: Tensors) => Tensors, more: { batchSize?: number; queueLimit?: number; runMs?: number } = {}) {
  let clock = 0;
  const turns: (() => void)[] = [];
  const batcher: Batcher = createBatcher({
    run: (inputs) => {
      clock += more.runMs ?? 0.1;
      return run(inputs);
    },
    batchSize: more.batchSize ?? 4,
    batchDelayMs: 0,
    queueLimit: more.queueLimit ?? 100,
    now: () => clock,
    later: (work) => void turns.push(work),
  });
  return { batcher, turn: () => turns.shift()?.(), turns };
}
const tensor = (values: number[], shape = [values.length, 1]): Tensor => ({ datatype: "FP32", shape, data: Float32Array.from(values) });
const inputs = (...values: number[]): Tensors => new Map([["x", tensor(values)]]);
const double = (given: Tensors): Tensors => new Map([["y", tensor(Array.from(given.get("x")!.data as Float32Array, (v) => 2 * v))]]);

describe("the queue", () => {
  it("joins up to the batch size and gives each request its own rows", () => {
    const { batcher, turn } = byHand(double, { batchSize: 2 });
    const answers: Answer[] = [];
    for (const value of [1, 2, 3]) batcher.submit(inputs(value), 1, (answer) => void answers.push(answer!));
    turn();
    expect(answers.map(({ outputs, batchItems }) => [(outputs.get("y")!.data as Float32Array)[0], batchItems])).toEqual([
      [2, 2],
      [4, 2],
      [6, 1],
    ]);
  });
  it("keeps requests of another shape apart", () => {
    const sizes: number[] = [];
    const { batcher, turn } = byHand((given) => (sizes.push(given.get("x")!.shape[1]!), double(given)));
    batcher.submit(new Map([["x", tensor([1, 2], [1, 2])]]), 1, () => {});
    batcher.submit(inputs(1), 1, () => {});
    turn();
    expect(sizes).toEqual([2, 1]);
  });
  it("answers each alone when the model does not keep one row an item", () => {
    const sum = (given: Tensors): Tensors =>
      new Map([["y", tensor([Array.from(given.get("x")!.data as Float32Array).reduce((a, b) => a + b, 0)])]]);
    const { batcher, turn } = byHand(sum);
    const found: number[] = [];
    for (const value of [1, 2, 3])
      batcher.submit(inputs(value), 1, (answer) => void found.push((answer!.outputs.get("y")!.data as Float32Array)[0]!));
    turn();
    expect(found).toEqual([1, 2, 3]);
  });
  it("does not let one request's fault reach its neighbours", () => {
    const picky = (given: Tensors): Tensors => {
      if ((given.get("x")!.data as Float32Array).includes(13)) throw new Error("thirteen");
      return double(given);
    };
    const { batcher, turn } = byHand(picky);
    const found: unknown[] = [];
    for (const value of [1, 13, 3])
      batcher.submit(
        inputs(value),
        1,
        (answer, fault) => void found.push(answer ? (answer.outputs.get("y")!.data as Float32Array)[0] : (fault as Error).message),
      );
    turn();
    expect(found).toEqual([2, "thirteen", 6]);
  });
  it("refuses beyond its limit, and lets the loop read between long runs", () => {
    const { batcher, turn, turns } = byHand(double, { batchSize: 1, queueLimit: 3, runMs: 10 });
    let done = 0;
    const taken = [1, 2, 3, 4].map((value) => batcher.submit(inputs(value), 1, () => void done++));
    expect(taken).toEqual([true, true, true, false]);
    turn();
    expect(done).toBe(1);
    expect(turns).toHaveLength(1);
    expect(batcher.waiting()).toBe(2);
  });
});

const model: ModelInterface = {
  name: "m",
  inputs: [{ name: "x", datatype: "INT64", shape: [-1, 2] }],
  outputs: [{ name: "y", datatype: "INT64", shape: [-1, 2] }],
};
const infer = (data: unknown, datatype = "INT64", own = model) =>
  parseInfer(Buffer.from(JSON.stringify({ inputs: [{ name: "x", shape: [1, 2], datatype, data }] })), null, own);

describe("the protocol", () => {
  it("keeps every digit of wide whole numbers on the way out, and refuses those that JSON has lost on the way in", () => {
    const answer = encodeAnswer(
      model,
      infer([1, 2]),
      new Map([["y", { datatype: "INT64", shape: [1, 2], data: BigInt64Array.of(9007199254740993n, -1n) }]]),
    );
    expect(Buffer.from(answer.body).toString()).toContain('"data":[9007199254740993,-1]');
    expect(() => infer([1e19, 0])).toThrow(/element 0 is 10000000000000000000; expected a whole number of INT64 below 2\^53/);
    expect(() => infer([0.5, 0])).toThrow(/element 0/);
  });
  it("refuses ragged and endless nesting", () => {
    const wide: ModelInterface = { ...model, inputs: [{ name: "x", datatype: "FP32", shape: [-1, 2] }] };
    expect(() => infer([[1], [2, 3]], "FP32", wide)).toThrow(/ragged: a list of 2 stands beside one of 1/);
    let deep: unknown = [1, 2];
    for (let i = 0; i < 100; i++) deep = [deep];
    expect(() => infer(deep, "FP32", wide)).toThrow(/deeper than 32/);
  });
  it("refuses numbers outside a narrow type, and texts that are no UTF-8", () => {
    const bytes: ModelInterface = { ...model, inputs: [{ name: "x", datatype: "UINT8", shape: [-1, 2] }] };
    expect(() => infer([1, 256], "UINT8", bytes)).toThrow(/element 1 is 256; expected a whole number within UINT8/);
    const texts: ModelInterface = { ...model, inputs: [{ name: "x", datatype: "BYTES", shape: [-1] }] };
    const head = Buffer.from('{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}');
    expect(() => parseInfer(Buffer.concat([head, Buffer.from([1, 0, 0, 0, 0xff])]), head.byteLength, texts)).toThrow(/no UTF-8/);
  });
});
