import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { zipSync } from "fflate";
import { afterAll, describe, expect, it } from "vitest";
import type { ModelHeader } from "../artifact/index.ts";
import type { Tensor, TensorSpec } from "../tensor/index.ts";
import { parseWorkload } from "../workload/index.ts";
import { draftWorkload, loadDataset, type Dataset } from "./index.ts";
import { readCsv, readJsonLines } from "./lines.ts";
import { parseNpy, parseNpz } from "./numpy.ts";

/** An .npy file by hand: NEP 1, version 1. */
function npy(descr: string, shape: string, body: Uint8Array, fortran = "False"): Uint8Array {
  const header = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': (${shape}), }`.padEnd(117) + "\n";
  return Buffer.concat([Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]), Buffer.from(header), body]);
}
const bytesOf = (data: ArrayBufferView): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

describe("numpy files", () => {
  it("give numbers in row-major order, also from Fortran order", () => {
    const c = parseNpy(npy("<f4", "2, 3", bytesOf(Float32Array.of(1, 2, 3, 4, 5, 6))), "a").column;
    const f = parseNpy(npy("<f4", "2, 3", bytesOf(Float32Array.of(1, 4, 2, 5, 3, 6)), "True"), "a").column;
    expect(c).toMatchObject({ kind: "numbers", shape: [3] });
    expect([...(c.data as Float32Array)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect([...(f.data as Float32Array)]).toEqual([1, 2, 3, 4, 5, 6]);
  });
  it("give texts", () => {
    const text = Uint32Array.from([97, 98, 0, 233, 0, 0]);
    expect(parseNpy(npy("<U3", "2,", bytesOf(text)), "a").column).toEqual({ kind: "texts", data: ["ab", "é"] });
  });
  it.each([
    ["no npy", Buffer.from("hello world, hello"), /no \.npy/],
    ["big-endian", npy(">f4", "1,", new Uint8Array(4)), /big-endian/],
    ["objects", npy("|O", "1,", new Uint8Array(8)), /\|O is not read/],
    ["too short a body", npy("<f8", "4,", new Uint8Array(8)), /8 bytes of data; its shape asks for 32/],
  ])("that are %s are refused", (_, bytes, message) => expect(() => parseNpy(bytes, "a")).toThrow(message));
  it("of unequal length in one archive are refused, and a damaged archive too", () => {
    const zip = zipSync({ "x.npy": npy("<f4", "2,", new Uint8Array(8)), "y.npy": npy("|u1", "3,", new Uint8Array(3)) });
    expect(() => parseNpz(zip, "a.npz")).toThrow(/array y has 3 items; the others have 2/);
    expect(() => parseNpz(zip.subarray(0, 40), "a.npz")).toThrow(/damaged/);
  });
});

describe("text files", () => {
  const csv = (text: string) => readCsv(() => Readable.from([Buffer.from(text)]), "a.csv");
  const jsonLines = (text: string) => readJsonLines(Readable.from([Buffer.from(text)]), "a.jsonl");
  it("read CSV with quotes, CRLF and a byte order mark", async () => {
    const { count, columns } = await csv('\uFEFFa,"b ""x""",kind\r\n1,2.5,"one, two"\r\n-3,4e2,plain\r\n');
    expect(count).toBe(2);
    expect([...(columns.get("a")!.data as Float64Array)]).toEqual([1, -3]);
    expect([...(columns.get('b "x"')!.data as Float64Array)]).toEqual([2.5, 400]);
    expect(columns.get("kind")).toEqual({ kind: "texts", data: ["one, two", "plain"] });
  });
  it("turn a column that holds one text into texts, and share those that come again", async () => {
    const { columns } = await csv(`n,m\n${"1,2\n".repeat(3000)}x,2\n`);
    expect(columns.get("n")!.data.length).toBe(3001);
    expect(columns.get("n")).toMatchObject({ kind: "texts" });
    expect((columns.get("n")!.data as string[])[2999]).toBe("1");
    expect(columns.get("m")).toMatchObject({ kind: "numbers" });
  });
  it("name the line of a fault", async () => {
    await expect(csv("a,b\n1,2\n3\n")).rejects.toThrow(/line 3/);
    await expect(csv("a,b\n")).rejects.toThrow(/no header row with rows below it/);
    await expect(csv("a,a\n1,2\n")).rejects.toThrow(/column "a" comes twice/);
    await expect(jsonLines("\n")).rejects.toThrow(/holds no line/);
    await expect(jsonLines('{"a":1}\n{"a":\n')).rejects.toThrow(/a\.jsonl, line 2/);
    await expect(jsonLines('{"a":[[1,2]]}\n{"a":[[1]]}\n')).rejects.toThrow(
      /item 2: field "a" has shape \[1,1\]; the first item has \[1,2\]/,
    );
    await expect(jsonLines('{"a":[1,2]}\n{"a":[1]}\n{"a":["b"]}\n')).rejects.toThrow(/item 3: field "a" is no list of numbers/);
  });
  it("read nested lists of JSON Lines", async () => {
    const { columns } = await jsonLines('{"a":[[1,2],[3,4]],"y":"cat"}\n\n{"a":[[5,6],[7,8]],"y":"dog"}\n');
    expect(columns.get("a")).toMatchObject({ kind: "numbers", shape: [2, 2] });
    expect(columns.get("y")).toEqual({ kind: "texts", data: ["cat", "dog"] });
  });
});

const home = mkdtempSync(join(tmpdir(), "assay-data-"));
const folder = join(home, "own");
mkdirSync(folder);
afterAll(() => rmSync(home, { recursive: true }));
const header = (inputs: TensorSpec[], outputs: TensorSpec[]): ModelHeader =>
  ({
    digest: "0",
    bytes: 1,
    irVersion: 8,
    opset: 17,
    opsets: {},
    inputs,
    outputs,
    unsupportedOutputs: [{ name: "zipmap", reason: "it is a sequence, not a tensor" }],
    externalFiles: [],
    freeDimensions: [],
    operators: {},
    nodes: [],
  }) as ModelHeader;
const vector = header([{ name: "x", datatype: "FP32", shape: [-1, 2] }], [{ name: "p", datatype: "FP32", shape: [-1, 3] }]);

const file = (data: string, more: Record<string, string> = {}): string => `apiVersion: assay/v1
name: t
class: online
models: [{ id: m, path: m.onnx }]
data:
  path: ${data}
  inputs: ${more["inputs"] ?? "{ x: { field: [a, b], scale: 0.5, offset: 1 } }"}
  labels: ${more["labels"] ?? "y"}
  score: ${more["score"] ?? "{ output: p, decode: argmax }"}
  task: ${more["task"] ?? "classification"}
  split: ${more["split"] ?? "{ calibration: 1, tuning: 1, holdout: 2 }"}
traffic: {}
targets: { latencyMs: { p99: 10 } }
`;
writeFileSync(join(folder, "d.csv"), "a,b,y,part,name\n1,2,0,holdout,cat\n3,4,1,tuning,dog\n5,6,2,calibration,eel\n7,8,0,holdout,cat\n");
const load = (text: string, model = vector, allowOutside = false) => {
  const { workload, faults } = parseWorkload(text);
  expect(faults).toEqual([]);
  return loadDataset(workload!, folder, [{ id: "m", header: model }], { allowOutside });
};
const answer = (name: string, datatype: Tensor["datatype"], data: Tensor["data"]): Map<string, Tensor> =>
  new Map([[name, { datatype, shape: [1, data.length], data }]]);

describe("a data set", () => {
  it("gives inputs prepared, stacked, and split in file order", async () => {
    const dataset = await load(file("d.csv"));
    expect(dataset.splits).toEqual({ calibration: [0], tuning: [1], holdout: [2, 3] });
    expect(dataset.stack("m", [0, 3]).get("x")).toEqual({ datatype: "FP32", shape: [2, 2], data: Float32Array.of(1.5, 2, 4.5, 5) });
  });
  it("takes parts from a field, and columns by a pattern", async () => {
    writeFileSync(join(folder, "w.csv"), "f1,f2,y,part\n1,2,0,holdout\n3,4,1,tuning\n");
    const dataset = await load(file("w.csv", { inputs: '{ x: { field: "f*" } }', split: "{ field: part }" }));
    expect(dataset.splits).toEqual({ calibration: [], tuning: [1], holdout: [0] });
  });
  const one = (dataset: Dataset, item: number, found: ReadonlyMap<string, Tensor> | undefined) => dataset.score("m", [item], [found])[0]!;
  it("scores logits, probabilities, labels and errors", async () => {
    const logits = await load(file("d.csv"));
    expect(one(logits, 2, answer("p", "FP32", Float32Array.of(-1, 0, 3)))).toEqual({ value: 1, prediction: 2 });
    expect(one(logits, 3, answer("p", "FP32", Float32Array.of(-1, 0, 3)))).toEqual({ value: 0, prediction: 2 });
    const named = await load(file("d.csv", { labels: "name" }));
    expect(one(named, 1, answer("p", "FP32", Float32Array.of(0, 9, 0)))).toEqual({ value: 1, prediction: "dog" });
    const label = await load(file("d.csv", { score: "{ output: p, decode: label }" }));
    expect(one(label, 2, answer("p", "INT64", BigInt64Array.of(2n)))).toEqual({ value: 1, prediction: 2 });
    const sigmoid = await load(file("d.csv", { score: "{ output: p, decode: sigmoid, threshold: 0.7 }" }));
    expect(one(sigmoid, 1, answer("p", "FP32", Float32Array.of(0.69)))).toEqual({ value: 0, prediction: 0 });
    const regression = await load(file("d.csv", { task: "regression", score: "{ output: p, decode: identity }" }));
    expect(one(regression, 2, answer("p", "FP32", Float32Array.of(5)))).toEqual({ value: 9, prediction: 5 });
    // Held out are 2 and 0: their mean is 1, its squared error 1; one of two is the most frequent.
    expect(regression.metric).toEqual({ name: "mse", betterIs: "lower", binary: false, blind: 1 });
    expect(logits.metric.blind).toBe(0.5);
    expect(one(label, 2, answer("p", "FP32", Float32Array.of(0.1, 0.9)))).toMatchObject({
      value: null,
      fault: expect.stringMatching(/2 values; decode: label reads one/) as string,
    });
  });
  it("calls an answer that is missing, not finite or of another size a fault", async () => {
    const dataset = await load(file("d.csv"));
    expect(one(dataset, 2, undefined).fault).toMatch(/missing/);
    expect(one(dataset, 2, new Map()).fault).toMatch(/missing/);
    expect(one(dataset, 2, answer("p", "FP32", Float32Array.of(1, Number.NaN, 3))).fault).toMatch(/NaN/);
    const two = new Map<string, Tensor>([["p", { datatype: "FP32", shape: [2, 1], data: Float32Array.of(1, 2) }]]);
    expect(one(dataset, 2, two).fault).toMatch(/2 items/);
  });
  it("scores several labels an item: all right, or F1", async () => {
    writeFileSync(join(folder, "tags.csv"), "a,b,tag_x,tag_y,tag_z\n1,2,1,0,0\n3,4,0,0,0\n5,6,1,1,0\n7,8,0,1,1\n");
    const tagged = (more: Record<string, string>) =>
      load(file("tags.csv", { labels: "tag_*", task: "multilabel", score: "{ output: p, decode: sigmoid }", ...more }));
    const f1 = await tagged({});
    expect(f1.metric).toEqual({ name: "f1", betterIs: "higher", binary: false });
    // Told x and y where x and y are true; told x and y where y and z are: 2·1 ÷ (2 + 2).
    expect(one(f1, 2, answer("p", "FP32", Float32Array.of(0.9, 0.5, 0.1)))).toEqual({ value: 1, prediction: "0 1" });
    expect(one(f1, 3, answer("p", "FP32", Float32Array.of(0.9, 0.5, 0.1)))).toEqual({ value: 0.5, prediction: "0 1" });
    expect(one(f1, 1, answer("p", "FP32", Float32Array.of(0, 0, 0)))).toEqual({ value: 1, prediction: "" });
    expect(one(f1, 1, answer("p", "FP32", Float32Array.of(0, 0))).fault).toMatch(/2 scores; an item has 3 labels/);
    const listed = await load(
      `${file("tags.csv", { labels: "[tag_x, tag_z]", task: "multilabel", score: "{ output: p, decode: sigmoid }" })}accuracy: { metric: exact, maxDrop: 0.1 }\n`,
    );
    expect(listed.metric.binary).toBe(true);
    expect(one(listed, 3, answer("p", "FP32", Float32Array.of(0.1, 0.9)))).toEqual({ value: 1, prediction: "1" });
    expect(one(listed, 3, answer("p", "FP32", Float32Array.of(0.9, 0.9))).value).toBe(0);
  });
  it("reads texts step by step, and counts wrong characters over all characters", async () => {
    writeFileSync(join(folder, "keys.txt"), "a\nb\nc\n");
    const ctc = "{ output: p, decode: ctc, ctc: { charset: keys.txt, space: true } }";
    const dataset = await load(file("d.csv", { labels: "name", task: "text", score: ctc }));
    expect(dataset.metric).toEqual({ name: "cer", betterIs: "lower", binary: false });
    const steps = (...classes: number[]): Map<string, Tensor> => {
      const data = new Float32Array(classes.length * 5);
      classes.forEach((k, step) => (data[step * 5 + k] = 1));
      return new Map([["p", { datatype: "FP32", shape: [1, classes.length, 5], data }]]);
    };
    // c, c again without a blank, blank, a, space, b: "ca b" beside "eel" (3 wrong and 1 too many), holdout "eel" and "cat": mean length 3.
    expect(one(dataset, 2, steps(3, 3, 0, 1, 4, 2))).toEqual({ value: 4 / 3, prediction: "ca b" });
    expect(one(dataset, 3, steps(3, 1, 0, 0, 1))).toEqual({ value: 1 / 3, prediction: "caa" });
    expect(one(dataset, 3, answer("p", "FP32", Float32Array.of(1, 2, 3))).fault).toMatch(/steps × 5/);
    const given = await load(file("d.csv", { labels: "name", task: "text", score: "{ output: p, decode: label }" }));
    expect(one(given, 3, answer("p", "BYTES", ["cot"]))).toEqual({ value: 1 / 3, prediction: "cot" });
  });
  it("finds like by vectors, and compares partners", async () => {
    writeFileSync(
      join(folder, "vec.csv"),
      "a,b,y,partner,alike\n1,2,red,1,1\n3,4,blue,0,0\n5,6,red,3,1\n7,8,red,2,0\n9,10,blue,0,1\n11,12,blue,4,0.5\n",
    );
    const split = "{ calibration: 1, tuning: 1, holdout: 4 }";
    const vectors = [
      [1, 0],
      [2, 0.1],
      [0, 1],
      [1, 0.9],
    ].map((v) => answer("p", "FP32", Float32Array.from(v)));
    const recall = async (k: number) => {
      const dataset = await load(file("vec.csv", { task: "retrieval", split, score: `{ output: p, decode: identity, k: ${k} }` }));
      return dataset.score("m", [2, 3, 4, 5], vectors).map(({ value }) => value);
    };
    // Items 2 and 3 (red) lie side by side; 4 and 5 (blue) have a red one as near or nearer.
    expect(await recall(1)).toEqual([1, 1, 1, 0]);
    expect(await recall(3)).toEqual([1, 1, 1, 1]);
    const alike = await load(
      file("vec.csv", { labels: "alike", task: "similarity", split, score: "{ output: p, decode: identity, partner: partner }" }),
    );
    const scores = alike.score("m", [2, 3, 4, 5], [vectors[0], vectors[2], vectors[0], vectors[0]]);
    // Cosine 0 against 1 and 0; the partner of item 4 is in another part; cosine 1 against 0.5.
    expect(scores.map(({ value }) => value)).toEqual([1, 0, null, 0.25]);
    expect(scores[2]!.fault).toMatch(/partner, item 0 from 0, is not in the holdout/);
    const zero = alike.score("m", [2], [answer("p", "FP32", Float32Array.of(0, 0))])[0]!;
    expect(zero.fault).toMatch(/partner|zeros/);
  });
  it.each<[string, string, RegExp, ModelHeader?]>([
    [
      "a split larger than the data",
      file("d.csv", { split: "{ calibration: 2, tuning: 2, holdout: 2 }" }),
      /2 \+ 2 \+ 2 = 6 items; the data have 4/,
    ],
    ["labels that are absent", file("d.csv", { labels: "z" }), /no field "z"; they have a, b, y/],
    [
      "an input that no model has",
      file("d.csv", { inputs: "{ x: { field: [a, b] }, q: { field: a } }" }),
      /data\.inputs\.q: no model has this input; the models have x/,
    ],
    ["an input that is not made", file("d.csv", { inputs: "{}" }), /needs input "x"/],
    ["another shape", file("d.csv", { inputs: "{ x: { field: a } }" }), /has shape \[\]; input "x" expects \[2\]/],
    ["another type", file("d.csv", { inputs: "{ x: { field: [a, b], as: int64 } }" }), /gives INT64; the model expects FP32/],
    ["texts for numbers", file("d.csv", { inputs: "{ x: { field: [a, name] } }" }), /field "name" holds texts \(item 1 is "cat"\)/],
    ["an output that the model lacks", file("d.csv", { score: "{ output: q, decode: argmax }" }), /no output "q"; it has p/],
    [
      "an output that is no tensor",
      file("d.csv", { score: "{ output: zipmap, decode: argmax }" }),
      /no tensor output "zipmap" \(it is a sequence/,
    ],
    ["labels that are no classes", file("d.csv", { labels: "h" }), /item 1 is 0\.5; a class is a whole number/],
    ["the same item in two parts", file("twice.csv"), /items 1 \(calibration\) and 4 \(holdout\) are the same/],
    ["an ending nobody knows", file("d.parquet"), /\.parquet is not known|cannot be read/],
    ["a path that leaves the folder", file("../outside.csv"), /leaves the folder/],
    ["a link that leaves the folder", file("link.csv"), /leaves the folder/],
    ["an unknown part", file("d.csv", { split: "{ field: name }" }), /item 1 is "cat"; expected calibration, tuning or holdout/],
  ])("with %s is refused, naming the place", async (_, text, message) => {
    mkdirSync(join(folder, "..", "assay-outside"), { recursive: true });
    writeFileSync(join(folder, "..", "assay-outside", "o.csv"), "a\n1\n");
    try {
      symlinkSync(join(folder, "..", "assay-outside", "o.csv"), join(folder, "link.csv"));
    } catch {
      // It is there already.
    }
    writeFileSync(join(folder, "twice.csv"), "a,b,y\n1,2,0\n3,4,1\n5,6,2\n1,2,0\n");
    const own = text.includes("labels: h") ? text.replace("d.csv", "halves.csv") : text;
    writeFileSync(join(folder, "halves.csv"), "a,b,h\n1,2,0.5\n3,4,1\n5,6,2\n7,8,0\n");
    writeFileSync(join(folder, "d.parquet"), "PAR1");
    await expect(load(own)).rejects.toThrow(message);
  });
  it("is drafted from the model and the data into a file that is right", async () => {
    const text = await draftWorkload([{ id: "m", path: join(folder, "m.onnx"), header: vector }], join(folder, "d.csv"), {
      folder,
      cores: 2,
      name: "t",
      schema: "s.json",
    });
    const { workload, faults } = parseWorkload(text);
    expect(faults).toEqual([]);
    expect(workload!.data).toMatchObject({ path: "d.csv", task: "classification", score: { output: "p", decode: "argmax" } });
    expect(workload!.hardware.threads).toBe(1);
  });

  it("is drafted with a loss that the holdout can exclude, or 1 % of the spread of the numbers to predict", async () => {
    const draft = async (rows: string[], outputs: number): Promise<string> => {
      writeFileSync(join(folder, "drop.csv"), `a,b,y\n${rows.join("\n")}\n`);
      const header = { ...vector, outputs: [{ ...vector.outputs[0]!, shape: [-1, outputs] }] };
      return draftWorkload([{ id: "m", path: join(folder, "m.onnx"), header }], join(folder, "drop.csv"), {
        folder,
        cores: 2,
        name: "t",
        schema: "s",
      });
    };
    const classes = (count: number): string[] => Array.from({ length: count }, (_, k) => `${k},1,${k % 3}`);
    // 1 − 0.05^(1/60) = 0.0487, 1 − 0.05^(1/1200) = 0.0025.
    expect(await draft(classes(100), 3)).toMatch(/holdout: 60 [^]*maxDrop: 0\.049 .*60 items cannot exclude less/);
    expect(await draft(classes(2000), 3)).toMatch(/maxDrop: 0\.01 /);
    // Of 0.5 and 20.5 in equal parts the variance is 100.
    expect(
      await draft(
        Array.from({ length: 100 }, (_, k) => `${k},1,${k % 2 === 0 ? 0.5 : 20.5}`),
        1,
      ),
    ).toMatch(/metric: mse\n {2}maxDrop: 1 {2}#/);
  });
});
