import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  GraphProtoSchema,
  ModelProtoSchema,
  TensorProto_DataLocation,
  TensorProtoSchema,
  TypeProtoSchema,
  TypeProto_TensorSchema,
  TensorShapeProtoSchema,
  TensorShapeProto_DimensionSchema,
  TypeProto_SequenceSchema,
  ValueInfoProtoSchema,
  type TypeProto,
} from "onnx-buf";
import { afterAll, describe, expect, it } from "vitest";
import { readModelHeader, readModel, readTensors, writeTensors } from "./index.ts";

const models = new URL("../../examples/digits/models/", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "assay-header-"));
afterAll(() => rmSync(folder, { recursive: true }));

const tensorType = (elemType: number, dims: (number | string)[]): TypeProto => {
  const dim = dims.map((size) =>
    create(TensorShapeProto_DimensionSchema, {
      value: typeof size === "string" ? { case: "dimParam", value: size } : { case: "dimValue", value: BigInt(size) },
    }),
  );
  const value = create(TypeProto_TensorSchema, { elemType, shape: create(TensorShapeProtoSchema, { dim }) });
  return create(TypeProtoSchema, { value: { case: "tensorType", value } });
};

/** A model `y = x + w` with the given input type; `w` in a file of its own when `external` is given. */
function write(
  name: string,
  options: { input?: TypeProto; outputs?: { name: string; type: TypeProto }[]; external?: Record<string, string> },
): string {
  const w = create(TensorProtoSchema, { name: "w", dataType: 1, dims: [2n] });
  if (options.external) {
    w.dataLocation = TensorProto_DataLocation.EXTERNAL;
    w.externalData = Object.entries(options.external).map(([key, value]) => ({ $typeName: "onnx.StringStringEntryProto", key, value }));
  } else w.rawData = new Uint8Array(new Float32Array([1, 2]).buffer);
  const value = (valueName: string, type: TypeProto) => create(ValueInfoProtoSchema, { name: valueName, type });
  const graph = create(GraphProtoSchema, {
    node: [{ opType: "Add", name: "add", input: ["x", "w"], output: ["y"] }],
    initializer: [w],
    input: [value("x", options.input ?? tensorType(1, ["N", 2])), value("w", tensorType(1, [2]))],
    output: (options.outputs ?? [{ name: "y", type: tensorType(1, ["N", 2]) }]).map((output) => value(output.name, output.type)),
  });
  const path = join(folder, name);
  writeFileSync(
    path,
    toBinary(ModelProtoSchema, create(ModelProtoSchema, { irVersion: 3n, opsetImport: [{ domain: "", version: 9n }], graph })),
  );
  return path;
}

describe("the header of an ONNX file", () => {
  it("reads the digits network as its exporter wrote it", async () => {
    const header = await readModelHeader(join(models, "cnn.onnx"));
    expect(header.digest).toBe("79b5548b318a8161b9023d6e0b5f1afe513a62a18c968fad04996deab13f2e25");
    expect(header).toMatchObject({
      irVersion: 10,
      opset: 21,
      inputs: [{ name: "x", datatype: "FP32", shape: [-1, 1, 28, 28] }],
      outputs: [{ name: "logits", datatype: "FP32", shape: [-1, 10] }],
      freeDimensions: [{ input: "x", symbol: "N" }],
      externalFiles: [],
      operators: { Conv: 2, Flatten: 1, Gemm: 2, MaxPool: 2, Relu: 3 },
    });
    expect(header.nodes[0]).toEqual({
      name: "Conv_1",
      op: "Conv",
      domain: "",
      weight: { shape: [8, 1, 3, 3], onnxType: 1 },
      hasGraphs: false,
    });
  });

  it("does not take initialisers listed among the inputs for inputs", async () => {
    expect((await readModelHeader(write("old.onnx", {}))).inputs.map(({ name }) => name)).toEqual(["x"]);
  });

  it("sets sequence outputs aside with a reason and keeps the tensors", async () => {
    const sequence = create(TypeProtoSchema, { value: { case: "sequenceType", value: create(TypeProto_SequenceSchema) } });
    const path = write("zipmap.onnx", {
      outputs: [
        { name: "label", type: tensorType(7, ["N"]) },
        { name: "probabilities", type: sequence },
      ],
    });
    const header = await readModelHeader(path);
    expect(header.outputs).toEqual([{ name: "label", datatype: "INT64", shape: [-1] }]);
    expect(header.unsupportedOutputs).toEqual([{ name: "probabilities", reason: "it is a sequence, not a tensor" }]);
  });

  it("refuses what is not ONNX, and a model cut short", async () => {
    const text = join(folder, "text.onnx");
    writeFileSync(text, "this is a letter, not a model");
    await expect(readModelHeader(text)).rejects.toMatchObject({ code: "MODEL_UNREADABLE" });
    const short = join(folder, "short.onnx");
    writeFileSync(short, readFileSync(join(models, "cnn.onnx")).subarray(0, 5000));
    await expect(readModelHeader(short)).rejects.toMatchObject({ code: "MODEL_UNREADABLE" });
    await expect(readModelHeader(join(folder, "absent.onnx"))).rejects.toThrow(/absent\.onnx.*ENOENT/);
  });

  it("keeps a free size past the first, for the data to tell", async () => {
    const path = write("free.onnx", { input: tensorType(1, ["N", "width"]) });
    expect((await readModelHeader(path)).inputs).toEqual([{ name: "x", datatype: "FP32", shape: [-1, -1] }]);
  });

  it("counts external data into the digest and refuses them missing, short or outside", async () => {
    const path = write("external.onnx", { external: { location: "w.bin", offset: "4", length: "8" } });
    await expect(readModelHeader(path)).rejects.toThrow(/w\.bin, which is missing/);
    writeFileSync(join(folder, "w.bin"), new Uint8Array(8));
    await expect(readModelHeader(path)).rejects.toMatchObject({ code: "MODEL_EXTERNAL_DATA" });
    writeFileSync(join(folder, "w.bin"), new Uint8Array([0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 64]));
    const one = await readModelHeader(path);
    expect(one.externalFiles).toEqual([{ location: "w.bin", bytes: 12 }]);
    expect([...readModel(path).graph.initializer[0]!.rawData]).toEqual([0, 0, 128, 63, 0, 0, 0, 64]);
    writeFileSync(join(folder, "w.bin"), new Uint8Array(12));
    expect((await readModelHeader(path)).digest).not.toBe(one.digest);
    const outside = write("outside.onnx", { external: { location: "../../etc/passwd" } });
    await expect(readModelHeader(outside)).rejects.toMatchObject({ code: "MODEL_EXTERNAL_DATA" });
  });
});

describe("a tensor file", () => {
  it("gives back what was written, texts and odd sizes too", () => {
    const path = join(folder, "some.tensors");
    const tensors = {
      x: { datatype: "UINT8", shape: [1, 3], data: new Uint8Array([1, 2, 250]) },
      y: { datatype: "INT64", shape: [2], data: new BigInt64Array([-1n, 9n]) },
      t: { datatype: "BYTES", shape: [2], data: ["", "größe"] },
    } as const;
    writeTensors(path, { ...tensors, t: { ...tensors.t, data: [...tensors.t.data] } });
    expect(readTensors(path)).toEqual(tensors);
    writeFileSync(path, readFileSync(path).subarray(0, 200));
    expect(() => readTensors(path)).toThrow(/ends at byte/);
  });
});
