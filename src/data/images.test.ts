import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelHeader } from "../artifact/index.ts";
import type { DataType } from "../tensor/index.ts";
import { parseWorkload } from "../workload/index.ts";
import { resizingOf, type ImagePlan } from "./images.ts";
import { draftWorkload, loadDataset } from "./index.ts";
import { resize, type Filter, type Picture } from "./resample.ts";

/** Two slopes and a pattern, 60 × 40. */
const picture: Picture = { width: 60, height: 40, rgb: new Uint8Array(60 * 40 * 3) };
for (let y = 0; y < 40; y++)
  for (let x = 0; x < 60; x++)
    picture.rgb.set([((x + y) * 3) % 256, ((39 - y + x) * 3) % 256, (x * 7919 + y * 104_729) % 251], (y * 60 + x) * 3);
const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

// SHA-256 of Pillow 12.3.0's bytes for the same picture.
it.each<[Filter, number, number, string]>([
  ["nearest", 30, 20, "1321d93fd7d952bd"],
  ["nearest", 90, 80, "b9630f2e0ddcdf9c"],
  ["nearest", 61, 39, "e9413f3bae21acfe"],
  ["bilinear", 30, 20, "2fa1db5d589b2a50"],
  ["bilinear", 90, 80, "31a458a5ff69128e"],
  ["bilinear", 17, 11, "c28672957216b069"],
  ["bilinear", 60, 40, "eae34a96b98aeb38"],
  ["bilinear", 61, 39, "cc4e71c87689e176"],
  ["bicubic", 30, 20, "4d148c7cd8ff436a"],
  ["bicubic", 90, 80, "aea4ce88177cece5"],
  ["bicubic", 61, 39, "02c4fb60b83eae8b"],
  ["lanczos", 30, 20, "95323592a2091077"],
  ["lanczos", 90, 80, "33cb8cce0c5ef830"],
  ["lanczos", 61, 39, "ab91bd2bae885524"],
])("%s to %i × %i gives Pillow's bytes", (filter, width, height, digest) => {
  expect(sha(resize(picture, width, height, filter).rgb)).toBe(digest);
});

describe("the size to resize to", () => {
  const plan = (more: Partial<ImagePlan>): ImagePlan => ({
    height: 224,
    width: 224,
    fit: "stretch",
    filter: "bilinear",
    colour: "rgb",
    layout: "nchw",
    ...more,
  });
  it.each<[string, Partial<ImagePlan>, number | null, object]>([
    ["both sides", {}, null, { width: 224, height: 224, keep: null }],
    ["the whole image", { fit: "contain" }, null, { width: 224, height: 168, keep: null }],
    // torchvision's Resize(256), CenterCrop(224): 640 × 480 becomes 341 × 256, cut at 58 or 59 and 16.
    [
      "a cut of 256",
      { fit: "cover", shortSide: 256 },
      null,
      { width: 341, height: 256, keep: { left: 59, top: 16, width: 224, height: 224 } },
    ],
    ["as short as fits", { fit: "cover" }, null, { width: 298, height: 224, keep: { left: 37, top: 0, width: 224, height: 224 } }],
    ["its own width", { height: 48, width: undefined }, 320, { width: 64, height: 48, keep: null }],
    ["at most the largest bucket", { height: 48, width: undefined }, 50, { width: 50, height: 48, keep: null }],
  ])("keeps to %s", (_, more, widest, expected) => {
    expect(resizingOf({ width: 640, height: 480 }, plan(more), widest)).toEqual(expected);
  });
});

const folder = mkdtempSync(join(tmpdir(), "assay-images-"));
afterAll(() => rmSync(folder, { recursive: true }));
const header = (shape: number[], datatype: DataType = "FP32", name = "x"): ModelHeader =>
  ({
    inputs: [{ name, datatype, shape }],
    outputs: [{ name: "p", datatype: "FP32", shape: [-1, 2] }],
    unsupportedOutputs: [],
  }) as unknown as ModelHeader;
const load = (inputs: string, model: ModelHeader, { path = "pets", labels = "folder" } = {}) => {
  const { workload, faults } = parseWorkload(`apiVersion: assay/v1
name: t
class: online
models: [{ id: m, path: m.onnx }]
data:
  path: ${path}
  inputs: ${inputs}
  labels: ${labels}
  score: { decode: argmax }
  classes: [cat, dog]
  task: classification
  split: { calibration: 1, tuning: 1, holdout: 1 }
traffic: {}
targets: { latencyMs: { p99: 10 } }
`);
  return faults.length > 0
    ? Promise.reject(new Error(faults.map(({ message, path: at }) => `${at}: ${message}`).join("\n")))
    : loadDataset(workload!, folder, [{ id: "m", header: model }]);
};

beforeAll(async () => {
  mkdirSync(join(folder, "pets", "cat"), { recursive: true });
  mkdirSync(join(folder, "pets", "dog"), { recursive: true });
  const save = (rgb: number[], width: number, path: string) =>
    sharp(Uint8Array.from(rgb), { raw: { width, height: rgb.length / 3 / width, channels: 3 } })
      .png()
      .toFile(join(folder, "pets", path));
  await save([10, 20, 30, 40, 50, 60], 2, "cat/a.png");
  await save([200, 100, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9], 4, "cat/b.png");
  await save([255, 0, 0, 0, 255, 0, 0, 0, 255], 3, "dog/c.png");
  writeFileSync(join(folder, "pets", "notes.txt"), "not an image");
  writeFileSync(join(folder, "list.csv"), "file,kind\npets/cat/a.png,cat\npets/dog/c.png,dog\npets/cat/b.png,cat\n");
});
const data = async (inputs: string, shape: number[], items: number[], path?: string) => {
  const dataset = await load(inputs, header(shape), path === undefined ? {} : { path, labels: "kind" });
  return dataset.stack("m", items).get("x")!;
};

describe("images", () => {
  it("come from a folder, by path, or from a list", async () => {
    const inputs = "{ x: { field: image, image: { height: 1, width: 2, filter: nearest } } }";
    // Channel by channel: red of both pixels, then green, then blue.
    expect(await data(inputs, [-1, 3, 1, 2], [0])).toEqual({
      datatype: "FP32",
      shape: [1, 3, 1, 2],
      data: Float32Array.of(10, 40, 20, 50, 30, 60),
    });
    const listed = await data(inputs.replace("field: image", "field: file"), [-1, 3, 1, 2], [0], "list.csv");
    expect([...(listed.data as Float32Array)]).toEqual([10, 40, 20, 50, 30, 60]);
    const dataset = await load(inputs, header([-1, 3, 1, 2]));
    expect(dataset.score("m", [2], [new Map([["p", { datatype: "FP32", shape: [1, 2], data: Float32Array.of(0, 1) }]])])).toEqual([
      { value: 1, prediction: "dog" },
    ]);
  });
  it("take scale, mean and deviation, colour order and layout", async () => {
    const inputs =
      "{ x: { field: image, scale: 0.1, image: { height: 1, width: 2, colour: bgr, layout: nhwc, filter: nearest, mean: [1, 2, 3], deviation: [2] } } }";
    const { data: found } = await data(inputs, [-1, 1, 2, 3], [0]);
    [(3 - 1) / 2, (2 - 2) / 2, (1 - 3) / 2, (6 - 1) / 2, (5 - 2) / 2, (4 - 3) / 2].forEach((value, k) =>
      expect(found[k]).toBeCloseTo(value, 6),
    );
  });
  it("become gray as Pillow's L", async () => {
    const { data: found } = await data(
      "{ x: { field: image, image: { height: 1, width: 3, colour: gray, filter: nearest } } }",
      [-1, 1, 1, 3],
      [2],
    );
    expect([...(found as Float32Array)]).toEqual([76, 150, 29]);
  });
  it("of different width are padded to a bucket, and grouped by it", async () => {
    const inputs = "{ x: { field: image, buckets: [3, 5], pad: -1, image: { height: 1, colour: gray, filter: nearest } } }";
    const dataset = await load(inputs, header([-1, 1, 1, -1]));
    expect(dataset.groups("m", [0, 1, 2])).toEqual([[0, 2], [1]]);
    expect(dataset.stack("m", [0]).get("x")).toEqual({ datatype: "FP32", shape: [1, 1, 1, 3], data: Float32Array.of(18, 48, -1) });
    expect(dataset.stack("m", [2, 1]).get("x")!.shape).toEqual([2, 1, 1, 5]);
    expect([...(dataset.stack("m", [2, 1]).get("x")!.data as Float32Array)]).toEqual([76, 150, 29, -1, -1, 118, 0, 0, 9, -1]);
  });
  it("count into the digest of the data", async () => {
    const inputs = "{ x: { field: file, image: { height: 1, width: 2 } } }";
    const one = await load(inputs, header([-1, 3, 1, 2]), { path: "list.csv", labels: "kind" });
    await sharp(Uint8Array.of(1, 2, 3), { raw: { width: 1, height: 1, channels: 3 } })
      .png()
      .toFile(join(folder, "pets", "cat", "a2.png"));
    writeFileSync(join(folder, "list2.csv"), "file,kind\npets/cat/a2.png,cat\npets/dog/c.png,dog\npets/cat/b.png,cat\n");
    const other = await load(inputs, header([-1, 3, 1, 2]), { path: "list2.csv", labels: "kind" });
    rmSync(join(folder, "pets", "cat", "a2.png"));
    expect(other.digest).not.toBe(one.digest);
  });
  it.each<[string, string, number[], RegExp, string?]>([
    ["no width and no buckets", "{ x: { field: image, image: { height: 1 } } }", [-1, 3, 1, -1], /image\.width: missing/],
    [
      "a cut larger than the image",
      "{ x: { field: image, image: { height: 9, width: 9, fit: cover, shortSide: 8 } } }",
      [-1, 3, 9, 9],
      /the cut would be larger/,
    ],
    [
      "means for other channels",
      "{ x: { field: image, image: { height: 1, width: 2, colour: gray, mean: [1, 2, 3] } } }",
      [-1, 1, 1, 2],
      /gray has 1 channel/,
    ],
    [
      "another shape",
      "{ x: { field: image, image: { height: 2, width: 2 } } }",
      [-1, 3, 1, 2],
      /gives \[3,2,2\]; the model expects \[3,1,2\]/,
    ],
    [
      "a fixed width where the image has its own",
      "{ x: { field: image, buckets: [4], image: { height: 1 } } }",
      [-1, 3, 1, 4],
      /gives \[3,1,free\]/,
    ],
    [
      "buckets that nothing needs",
      "{ x: { field: image, buckets: [4], image: { height: 1, width: 2 } } }",
      [-1, 3, 1, 2],
      /every item .* has the same size/,
    ],
    [
      "a file that is no image",
      "{ x: { field: file, image: { height: 1, width: 2 } } }",
      [-1, 3, 1, 2],
      /broken\.png \(item 2\): it is no image/,
      "broken.csv",
    ],
    [
      "a path that leaves the folder",
      "{ x: { field: file, image: { height: 1, width: 2 } } }",
      [-1, 3, 1, 2],
      /leaves the folder/,
      "away.csv",
    ],
    ["numbers for paths", "{ x: { field: n, image: { height: 1, width: 2 } } }", [-1, 3, 1, 2], /needs the paths of images/, "broken.csv"],
  ])("with %s are refused, naming the place", async (_, inputs, shape, message, path) => {
    writeFileSync(join(folder, "broken.png"), "no image at all");
    writeFileSync(join(folder, "broken.csv"), "file,kind,n\npets/cat/a.png,cat,1\nbroken.png,dog,2\npets/cat/b.png,cat,3\n");
    writeFileSync(join(folder, "away.csv"), "file,kind\npets/cat/a.png,cat\n../../etc/hosts.png,dog\npets/cat/b.png,cat\n");
    await expect(load(inputs, header(shape), path === undefined ? {} : { path, labels: "kind" })).rejects.toThrow(message);
  });
  it("are drafted", async () => {
    const text = await draftWorkload([{ id: "m", path: join(folder, "m.onnx"), header: header([-1, 3, 32, 32]) }], join(folder, "pets"), {
      folder,
      cores: 2,
      name: "t",
      schema: "s.json",
    });
    const { workload, faults } = parseWorkload(text);
    expect(faults).toEqual([]);
    expect(workload!.data).toMatchObject({
      path: "pets",
      labels: "folder",
      inputs: { x: { field: "image", image: { height: 32, width: 32, colour: "rgb", layout: "nchw" } } },
    });
  });
});

describe("lists of different length", () => {
  const lines = '{"ids":[5,6,7],"kind":"cat"}\n{"ids":[8],"kind":"dog"}\n{"ids":[],"kind":"cat"}\n';
  const tokens = (inputs: string) => {
    writeFileSync(join(folder, "tokens.jsonl"), lines);
    return load(inputs, header([-1, -1], "INT64", "ids"), { path: "tokens.jsonl", labels: "kind" });
  };
  it("are padded to the smallest bucket that holds them", async () => {
    const dataset = await tokens("{ ids: { field: ids, as: int64, buckets: [2, 4], pad: 9 } }");
    expect(dataset.stack("m", [0]).get("ids")).toEqual({ datatype: "INT64", shape: [1, 4], data: BigInt64Array.of(5n, 6n, 7n, 9n) });
    expect(dataset.stack("m", [1, 2]).get("ids")).toEqual({ datatype: "INT64", shape: [2, 2], data: BigInt64Array.of(8n, 9n, 9n, 9n) });
    expect(dataset.groups("m", [0, 1, 2])).toEqual([[0], [1, 2]]);
  });
  it("need buckets, and buckets that are large enough", async () => {
    await expect(tokens("{ ids: { field: ids, as: int64 } }")).rejects.toThrow(/different lengths; give data\.inputs\.ids\.buckets/);
    await expect(tokens("{ ids: { field: ids, as: int64, buckets: [2] } }")).rejects.toThrow(
      /item 1 of field "ids" has 3 values; the largest .* is 2/,
    );
  });
});
