// Large inputs, each in a process of its own: time, peak memory, size on disk.
//   node bench/scale.mjs
import { execFileSync } from "node:child_process";
import { createWriteStream, ftruncateSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { figure, place } from "./place.mjs";

const digits = (name) => fileURLToPath(new URL(`../examples/digits/${name}`, import.meta.url));
const workload = () => readFileSync(digits("workload.yaml"), "utf8");

async function writeRows(path, line, rows) {
  const file = createWriteStream(path);
  file.write("a,b,c,d,e,f,g,h,y,part\n");
  for (let i = 0; i < rows; i++) if (!file.write(line(i))) await once(file, "drain");
  file.end();
  await once(file, "finish");
}

const cases = {
  async "a workload file with 200 faults, all listed"() {
    const { parseWorkload } = await import("../dist/workload/index.js");
    const wrong = Array.from({ length: 100 }, (_, i) => `  - { id: "bad id ${i}", pat: models/m${i}.onnx }`).join("\n");
    const text = workload().replace(/models:\n(?: {2}- .*\n)+/, `models:\n${wrong}\n`);
    const began = performance.now();
    const { faults } = parseWorkload(text);
    return { ms: performance.now() - began, note: `${faults.length} faults` };
  },
  async "5,000 candidates enumerated"() {
    const { parseWorkload, candidatesOf } = await import("../dist/workload/index.js");
    const { readModelHeader } = await import("../dist/artifact/index.js");
    const { isBatchable, onnxruntimeStack, routesOf } = await import("../dist/build/onnxruntime/index.js");
    const space = `search:
  combine: every
  precision: [fp32, fp16, int8-dynamic, int8-static]
  symmetric: [false, true]
  calibration: [minmax, percentile]
  graph: [disabled, basic, extended, all]
  execution: [sequential, parallel]
  interThreads: [2, 4]
  spinning: [true, false]
  arena: [true, false]
  memoryPattern: [true, false]
  batch: [1, 4, 8]
`;
    const { workload: parsed } = parseWorkload(workload().replace(/search:\n(?: {2}.*\n)+/, space));
    const models = [];
    for (const { id, path } of parsed.models) {
      const header = await readModelHeader(digits(path));
      models.push({ id, digest: header.digest, batchable: isBatchable(header), routes: routesOf(header) });
    }
    const began = performance.now();
    const { candidates, enumerated } = candidatesOf(parsed, { models, cores: 2, runtime: onnxruntimeStack() });
    return { ms: performance.now() - began, note: `${enumerated} combinations, ${candidates.length} candidates` };
  },
  async "1,000,000 rows of CSV, 9 numbers and a text each"(folder) {
    const path = join(folder, "rows.csv");
    await writeRows(
      path,
      (i) => `${i},${i % 7},${(i * 0.37).toFixed(3)},1.5,2.5,${-i},0,9,${i % 3},${i % 5 ? "holdout" : "tuning"}\n`,
      1e6,
    );
    return { file: path, child: "csv" };
  },
  async "a model of 2.2 GB in external data: its header"(folder) {
    const { create, toBinary } = await import("@bufbuild/protobuf");
    const onnx = await import("onnx-buf");
    const values = 550_000_000n;
    const fd = openSync(join(folder, "weights.bin"), "w");
    ftruncateSync(fd, Number(values) * 4);
    closeSync(fd);
    const dim = (value) => create(onnx.TensorShapeProto_DimensionSchema, { value });
    const tensor = (sizes) =>
      create(onnx.TypeProtoSchema, {
        value: {
          case: "tensorType",
          value: create(onnx.TypeProto_TensorSchema, { elemType: 1, shape: create(onnx.TensorShapeProtoSchema, { dim: sizes.map(dim) }) }),
        },
      });
    const size = (value) => ({ case: "dimValue", value });
    const model = create(onnx.ModelProtoSchema, {
      irVersion: 8n,
      opsetImport: [create(onnx.OperatorSetIdProtoSchema, { domain: "", version: 17n })],
      graph: create(onnx.GraphProtoSchema, {
        name: "large",
        node: [create(onnx.NodeProtoSchema, { opType: "MatMul", input: ["x", "w"], output: ["y"], name: "m" })],
        initializer: [
          create(onnx.TensorProtoSchema, {
            name: "w",
            dataType: 1,
            dims: [5500n, values / 5500n],
            dataLocation: onnx.TensorProto_DataLocation.EXTERNAL,
            externalData: [create(onnx.StringStringEntryProtoSchema, { key: "location", value: "weights.bin" })],
          }),
        ],
        input: [create(onnx.ValueInfoProtoSchema, { name: "x", type: tensor([{ case: "dimParam", value: "N" }, size(5500n)]) })],
        output: [create(onnx.ValueInfoProtoSchema, { name: "y", type: tensor([{ case: "dimParam", value: "N" }, size(values / 5500n)]) })],
      }),
    });
    const path = join(folder, "large.onnx");
    writeFileSync(path, toBinary(onnx.ModelProtoSchema, model));
    return { file: path, child: "header" };
  },
  async "10,000,000 records, written"(folder) {
    return { file: join(folder, "records.arrow.gz"), child: "records" };
  },
};

/** What is measured in a process of its own, so that its memory is nobody else's. */
const children = {
  async csv(path) {
    const { readColumns } = await import("../dist/data/read.js");
    const { count, columns } = await readColumns(path);
    return `${count} rows, ${columns.size} columns`;
  },
  async header(path) {
    const { readModelHeader } = await import("../dist/artifact/index.js");
    return `${(await readModelHeader(path)).bytes} bytes`;
  },
  async records(path) {
    const { createTable, openRecords } = await import("../dist/load/records.js");
    const writer = openRecords(path);
    for (let block = 0; block < 1220; block++) {
      const table = createTable(8192);
      for (let i = 0; i < 8192; i++) {
        const due = (block * 8192 + i) * 50_000;
        table.index[i] = block * 8192 + i;
        table.item[i] = i % 512;
        table.scheduledNs[i] = due;
        table.issuedNs[i] = due + 1000 + ((i * 7919) % 20_000);
        table.sentNs[i] = table.issuedNs[i] + 3000 + ((i * 31) % 2000);
        table.firstByteNs[i] = table.sentNs[i] + 200_000 + ((i * 104_729) % 300_000);
        table.doneNs[i] = table.firstByteNs[i] + ((i * 13) % 900);
        table.status[i] = 200;
        table.queueUs[i] = (i * 17) % 90;
        table.computeUs[i] = 100 + ((i * 11) % 60);
        table.batch[i] = 1;
        table.bytesIn[i] = 320;
      }
      writer.write(table);
      if (block % 16 === 15) await new Promise(setImmediate);
    }
    await writer.close();
    return `${1220 * 8192} records`;
  },
};

const [, , child, path] = process.argv;
if (child) {
  const began = performance.now();
  const note = await children[child](path);
  console.log(JSON.stringify({ ms: performance.now() - began, note, peakMb: process.resourceUsage().maxRSS / 1000 }));
} else {
  const rows = [];
  for (const [name, prepare] of Object.entries(cases)) {
    const folder = mkdtempSync(join(tmpdir(), "assay-scale-"));
    try {
      const { file, child: own, ...direct } = await prepare(folder);
      const found = own
        ? JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), own, file], { encoding: "utf8" }))
        : direct;
      const size = file ? `${figure(statSync(file).size / 1e6)} MB` : "";
      rows.push(`| ${name} | ${figure(found.ms)} ms | ${found.peakMb ? `${figure(found.peakMb)} MB` : ""} | ${size} | ${found.note} |`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  console.log(`# Scale

${place("node bench/scale.mjs")}

| what | time | peak memory of the process | file | found |
|---|---|---|---|---|
${rows.join("\n")}
`);
}
