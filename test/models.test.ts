/** Models of many kinds, from their data to scored answers through the served path. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  AttributeProto_AttributeType as Kind,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_MapSchema,
  TypeProto_SequenceSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
  type AttributeProto,
  type NodeProto,
  type TensorProto,
  type TypeProto,
} from "onnx-buf";
import { afterAll, describe, expect, it } from "vitest";
import { openOnnxSession, openStore, readModelHeader } from "../src/artifact/index.ts";
import { openFleet } from "../src/bench/fleet.ts";
import { artifactRequest, isBatchable, onnxruntimeStack, routesOf } from "../src/build/onnxruntime/index.ts";
import { obtainArtifact } from "../src/build/index.ts";
import { createBuilder } from "../src/bench/builds.ts";
import { loadDataset } from "../src/data/index.ts";
import { describeMachine } from "../src/host/index.ts";
import { candidatesOf, defaultSession, parseWorkload } from "../src/workload/index.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-models-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** ONNX type numbers. */
const [FLOAT, UINT8, INT32, INT64, STRING, BOOL, DOUBLE] = [1, 2, 6, 7, 8, 9, 11];
const tensorType = (elemType: number, sizes: readonly (number | string)[]): TypeProto =>
  create(TypeProtoSchema, {
    value: {
      case: "tensorType",
      value: create(TypeProto_TensorSchema, {
        elemType,
        shape: create(TensorShapeProtoSchema, {
          dim: sizes.map((size) =>
            create(TensorShapeProto_DimensionSchema, {
              value: typeof size === "string" ? { case: "dimParam", value: size } : { case: "dimValue", value: BigInt(size) },
            }),
          ),
        }),
      }),
    },
  });
const value = (name: string, type: TypeProto) => create(ValueInfoProtoSchema, { name, type });
const node = (opType: string, input: string[], output: string[], attribute: AttributeProto[] = [], domain = ""): NodeProto =>
  create(NodeProtoSchema, { opType, input, output, attribute, domain, name: output[0]! });
const ints = (name: string, ...some: number[]) => create(AttributeProtoSchema, { name, type: Kind.INTS, ints: some.map(BigInt) });
const int = (name: string, one: number) => create(AttributeProtoSchema, { name, type: Kind.INT, i: BigInt(one) });
const floats = (name: string, ...some: number[]) => create(AttributeProtoSchema, { name, type: Kind.FLOATS, floats: some });
const strings = (name: string, ...some: string[]) =>
  create(AttributeProtoSchema, { name, type: Kind.STRINGS, strings: some.map((one) => Buffer.from(one)) });
const constant = (name: string, dataType: number, dims: number[], data: ArrayBufferView<ArrayBuffer>): TensorProto =>
  create(TensorProtoSchema, {
    name,
    dataType,
    dims: dims.map(BigInt),
    rawData: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  });

interface Kinds {
  opset?: number;
  inputs: [string, number, (number | string)[]][];
  outputs: [string, TypeProto][];
  nodes: NodeProto[];
  constants?: TensorProto[];
}
const write = (name: string, { opset = 17, inputs, outputs, nodes, constants = [] }: Kinds): string => {
  const own = join(folder, name);
  mkdirSync(own);
  const model = create(ModelProtoSchema, {
    irVersion: opset < 9 ? 3n : 8n,
    opsetImport: [["", opset] as const, ["ai.onnx.ml", 3] as const].map(([domain, version]) =>
      create(OperatorSetIdProtoSchema, { domain, version: BigInt(version) }),
    ),
    graph: create(GraphProtoSchema, {
      name,
      node: nodes,
      initializer: constants,
      // Until IR 4 every constant is listed among the inputs.
      input: [
        ...inputs.map(([input, type, sizes]) => value(input, tensorType(type, sizes))),
        ...(opset < 9 ? constants.map((one) => value(one.name, tensorType(one.dataType, one.dims.map(Number)))) : []),
      ],
      output: outputs.map(([output, type]) => value(output, type)),
    }),
  });
  writeFileSync(join(own, "model.onnx"), toBinary(ModelProtoSchema, model));
  return own;
};

/** The share of right answers on the holdout, through a server. */
async function rightOf(own: string, csv: string, inputs: string, score: string): Promise<number> {
  writeFileSync(join(own, "data.csv"), csv);
  const { workload, faults } = parseWorkload(`apiVersion: assay/v1
name: kinds
class: online
models: [{ id: m, path: model.onnx }]
data: { path: data.csv, inputs: ${inputs}, labels: y, score: ${score}, task: classification, split: { calibration: 1, tuning: 1, holdout: 4 } }
traffic: {}
targets: { latencyMs: { p99: 100 } }
hardware: { threads: 1 }
`);
  expect(faults).toEqual([]);
  const path = join(own, "model.onnx");
  const header = await readModelHeader(path);
  const models = [{ id: "m", path, header }];
  const dataset = await loadDataset(workload!, own, models);
  const machine = describeMachine();
  const store = openStore(join(folder, "store"), { limitBytes: 1e9 });
  const { signal } = new AbortController();
  const facts = { id: "m", digest: header.digest, batchable: isBatchable(header), routes: routesOf(header) };
  const { baseline } = candidatesOf(workload!, { models: [facts], cores: machine.cores, runtime: onnxruntimeStack() });
  const builder = createBuilder({ models, dataset, store, machine, workFolder: join(own, "work"), maxDurationMs: 30_000, signal });
  const { record, artifact } = await builder.build(baseline, { fresh: false, startMs: 0 });
  expect(record.failure).toBeNull();
  const fleet = openFleet({ dataset, arrival: { kind: "poisson" }, itemsPerRequest: 1, cores: 1, timeoutMs: 5000, signal });
  try {
    const { scores, faults: wrong } = await fleet.holdout({ candidate: baseline, header, artifact: artifact! }, 0);
    expect(wrong).toEqual([]);
    return scores.values.reduce<number>((sum, one) => sum + one!, 0) / scores.values.length;
  } finally {
    await fleet.close();
    store.close();
  }
}

const scores = (size = 2): [string, TypeProto][] => [["p", tensorType(FLOAT!, ["N", size])]];
const eye = constant("w", FLOAT!, [2, 2], Float32Array.of(1, 0, 0, 1));
/** The larger of two numbers is the class. */
const rows = (shown: (a: number, b: number) => string): string =>
  `${[
    [1, 9],
    [8, 2],
    [3, 7],
    [6, 5],
    [2, 4],
    [9, 1],
  ]
    .map(([a, b]) => `${shown(a!, b!)},${a! < b! ? 1 : 0}`)
    .join("\n")}\n`;
const pairs = `a,b,y\n${rows((a, b) => `${a},${b}`)}`;
const argmax = "{ output: p, decode: argmax }";

describe("a model", () => {
  it.each<[string, Kinds, string, string, string]>([
    [
      "of float64",
      {
        inputs: [["x", DOUBLE!, ["N", 2]]],
        outputs: [["p", tensorType(DOUBLE!, ["N", 2])]],
        nodes: [node("MatMul", ["x", "w"], ["p"])],
        constants: [constant("w", DOUBLE!, [2, 2], Float64Array.of(1, 0, 0, 1))],
      },
      pairs,
      "{ x: { field: [a, b], as: float64 } }",
      argmax,
    ],
    [
      "of int32",
      { inputs: [["x", INT32!, ["N", 2]]], outputs: scores(), nodes: [node("Cast", ["x"], ["p"], [int("to", FLOAT!)])] },
      pairs,
      "{ x: { field: [a, b], as: int32 } }",
      argmax,
    ],
    [
      "of uint8 with a fixed first size",
      { inputs: [["x", UINT8!, [2]]], outputs: [["p", tensorType(FLOAT!, [2])]], nodes: [node("Cast", ["x"], ["p"], [int("to", FLOAT!)])] },
      pairs,
      "{ x: { field: [a, b], as: uint8 } }",
      argmax,
    ],
    [
      "of truth values",
      { inputs: [["x", BOOL!, ["N", 2]]], outputs: scores(), nodes: [node("Cast", ["x"], ["p"], [int("to", FLOAT!)])] },
      `a,b,y\n1,0,0\n0,1,1\n1,0,0\n0,1,1\n0,1,1\n1,0,0\n`.replace("1,0,0\n0,1,1\n1", "1,1,0\n0,0,0\n1"),
      "{ x: { field: [a, b], as: bool } }",
      argmax,
    ],
    [
      "of two inputs of different type, one looked up in a table",
      {
        inputs: [
          ["id", INT64!, ["N", 1]],
          ["x", FLOAT!, ["N", 2]],
        ],
        outputs: scores(),
        nodes: [node("Gather", ["table", "id"], ["g"]), node("Reshape", ["g", "shape"], ["row"]), node("Add", ["row", "x"], ["p"])],
        constants: [
          constant("table", FLOAT!, [2, 2], Float32Array.of(0, 0, 0, 100)),
          constant("shape", INT64!, [2], BigInt64Array.of(-1n, 2n)),
        ],
      },
      "id,a,b,y\n0,1,9,1\n0,8,2,0\n1,9,1,1\n0,6,5,0\n1,2,4,1\n1,8,1,1\n",
      "{ id: { field: id, as: int64 }, x: { field: [a, b] } }",
      argmax,
    ],
    [
      "of texts",
      {
        inputs: [["x", STRING!, ["N", 1]]],
        outputs: [["p", tensorType(INT64!, ["N", 1])]],
        nodes: [
          node("LabelEncoder", ["x"], ["p"], [strings("keys_strings", "no", "größer, yes"), ints("values_int64s", 0, 1)], "ai.onnx.ml"),
        ],
      },
      `x,y\n${["no,0", '"größer, yes",1', "no,0", '"größer, yes",1', "no,0", '"größer, yes",1'].join("\n")}\n`
        .replace("no,0\n", "maybe,0\n")
        .replace('"größer, yes",1\n', "perhaps,0\n"),
      "{ x: { field: x, as: string } }",
      "{ output: p, decode: label }",
    ],
    [
      "of trees, with a sequence of maps beside its label",
      {
        inputs: [["x", FLOAT!, ["N", 2]]],
        outputs: [
          ["label", tensorType(STRING!, ["N"])],
          [
            "probabilities",
            create(TypeProtoSchema, {
              value: {
                case: "sequenceType",
                value: create(TypeProto_SequenceSchema, {
                  elemType: create(TypeProtoSchema, {
                    value: { case: "mapType", value: create(TypeProto_MapSchema, { keyType: STRING!, valueType: tensorType(FLOAT!, []) }) },
                  }),
                }),
              },
            }),
          ],
        ],
        nodes: [
          // The first number below 5 = class 1, the second tree says the same by the second number.
          node(
            "TreeEnsembleClassifier",
            ["x"],
            ["label", "p"],
            [
              strings("classlabels_strings", "falls", "rises", "stays"),
              ints("nodes_treeids", 0, 0, 0, 1, 1, 1),
              ints("nodes_nodeids", 0, 1, 2, 0, 1, 2),
              ints("nodes_featureids", 0, 0, 0, 1, 0, 0),
              floats("nodes_values", 5, 0, 0, 5, 0, 0),
              strings("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
              ints("nodes_truenodeids", 1, 0, 0, 1, 0, 0),
              ints("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
              ints("class_treeids", 0, 0, 1, 1),
              ints("class_nodeids", 1, 2, 1, 2),
              ints("class_ids", 1, 0, 0, 1),
              floats("class_weights", 0.6, 0.5, 0.4, 0.5),
            ],
            "ai.onnx.ml",
          ),
          node("ZipMap", ["p"], ["probabilities"], [strings("classlabels_strings", "falls", "rises", "stays")], "ai.onnx.ml"),
        ],
      },
      `a,b,y\n${rows((a, b) => `${a},${b}`)
        .replace(/,0\n/g, ",falls\n")
        .replace(/,1\n/g, ",rises\n")}`,
      "{ x: { field: [a, b] } }",
      "{ output: label, decode: label }",
    ],
  ])("%s answers through the server as it should", async (name, kinds, csv, inputs, score) => {
    expect(await rightOf(write(name.replace(/\W+/g, "-"), kinds), csv, inputs, score)).toBe(1);
  });

  it("of every operator set from 7 to 23 loads, and takes each route that is not refused with a reason", async () => {
    const store = openStore(join(folder, "sets"), { limitBytes: 1e9 });
    const { writeGroups } = await import("../src/artifact/index.ts");
    const items = join(folder, "items");
    writeGroups(items, [new Map([["x", { datatype: "FP32", shape: [4, 2], data: Float32Array.of(1, 9, 8, 2, 3, 7, 6, 5) }]])]);
    for (let opset = 7; opset <= 23; opset++) {
      const own = write(`set-${opset}`, {
        opset,
        inputs: [["x", FLOAT!, ["N", 2]]],
        outputs: scores(),
        nodes: [node("Gemm", ["x", "w", "b"], ["h"]), node("Relu", ["h"], ["r"]), node("Softmax", ["r"], ["p"], [int("axis", 1)])],
        constants: [eye, constant("b", FLOAT!, [2], Float32Array.of(0, 0.5))],
      });
      const path = join(own, "model.onnx");
      const header = await readModelHeader(path);
      expect(header.opset).toBe(opset);
      const session = await openOnnxSession(path, defaultSession(1), ["p"]);
      const one = new Map([["x", { datatype: "FP32" as const, shape: [1, 2], data: Float32Array.of(1, 2) }]]);
      // Softmax of 1 and 2.5.
      expect(Number(session.runNow(one).get("p")!.data[1])).toBeCloseTo(1 / (1 + Math.exp(-1.5)), 5);
      await session.close();
      const routes = routesOf(header).filter(
        ({ route }) => route.precision === "int8-dynamic" || (route.precision === "int8-static" && route.perChannel),
      );
      expect(routes.filter(({ refused }) => refused === null).length).toBeGreaterThan(0);
      // One route a set: each takes a process or two.
      const { route } = routes.find(({ refused }) => refused === null)!;
      const request = artifactRequest({
        header,
        modelPath: path,
        route,
        machine: describeMachine(),
        calibration: { digest: "items", file: items },
        smokeFile: items,
        outputs: ["p"],
      });
      const { failure } = await obtainArtifact(store, request, { maxDurationMs: 30_000 });
      expect(failure, `operator set ${opset}`).toBeNull();
    }
    store.close();
  }, 120_000);
});
