import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { zipSync } from "fflate";
import { readModelHeader } from "../src/artifact/index.ts";
import { AssayError, randomStream } from "../src/base/index.ts";
import { loadDataset } from "../src/data/index.ts";
import { entryUrl } from "../src/host/index.ts";
import { parseWorkload } from "../src/workload/index.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-fuzz-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const digits = new URL("../examples/digits/", import.meta.url).pathname;
const rounds = 500;

type Stream = ReturnType<typeof randomStream>;
const below = (stream: Stream, n: number): number => Math.floor(stream.uniform() * n);

/** One of: cut short, bits flipped, numbers of a header set to lies, a piece repeated, a piece of zeros, bytes of another file put in. */
function corrupt(original: Buffer, stream: Stream): Buffer {
  const bytes = Buffer.from(original);
  const at = below(stream, bytes.length);
  const length = 1 + below(stream, 64);
  // Headers are small and stand in front: half of the damage goes there.
  const early = stream.uniform() < 0.5 ? below(stream, Math.min(400, bytes.length)) : at;
  switch (below(stream, 6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      for (let i = 0; i < 1 + below(stream, 20); i++) bytes[below(stream, bytes.length)]! ^= 1 << below(stream, 8);
      return bytes;
    case 2:
      bytes.fill(0xff, early, Math.min(bytes.length, early + 1 + below(stream, 8)));
      return bytes;
    case 3:
      return Buffer.concat([bytes.subarray(0, early), bytes.subarray(early, early + length), bytes.subarray(early)]);
    case 4:
      bytes.fill(0, early, Math.min(bytes.length, early + length));
      return bytes;
    default:
      for (let i = 0; i < 8; i++) bytes[early + i] = below(stream, 256);
      return bytes;
  }
}

const megabytes = (): number => process.memoryUsage().rss / 2 ** 20;

describe(`${rounds} damaged models`, () => {
  const cnn = readFileSync(join(digits, "models/cnn.onnx"));
  it("are read or refused with a code, in bounded memory, and what loads runs or says why, without a crash", async () => {
    const stream = randomStream("fuzz", "models");
    const before = megabytes();
    const codes = new Map<string, number>();
    const readable: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const path = join(folder, `${round}.onnx`);
      writeFileSync(path, corrupt(cnn, stream));
      try {
        await readModelHeader(path);
        readable.push(path);
      } catch (fault) {
        expect(fault, `round ${round}`).toBeInstanceOf(AssayError);
        const { code, message } = fault as AssayError;
        expect(code, `round ${round}: ${message}`).toMatch(/^MODEL_/);
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }
    expect(megabytes() - before).toBeLessThan(400);
    expect(codes.get("MODEL_UNREADABLE")).toBeGreaterThan(50);
    expect(readable.length).toBeGreaterThan(50);
    // One process for all: a crash of the runtime would end it.
    const script = join(folder, "run.mjs");
    const artifact = entryUrl(new URL("../src/artifact/x.ts", import.meta.url).href, "./index.js").href;
    const workload = entryUrl(new URL("../src/workload/x.ts", import.meta.url).href, "./index.js").href;
    writeFileSync(
      script,
      `import { openOnnxSession } from ${JSON.stringify(artifact)};
      import { defaultSession } from ${JSON.stringify(workload)};
      const x = { datatype: "FP32", shape: [1, 1, 28, 28], data: new Float32Array(784).fill(0.5) };
      let [ran, refused] = [0, 0];
      for (const path of ${JSON.stringify(readable)}) {
        try {
          const session = await openOnnxSession(path, defaultSession(1), null);
          session.runNow(new Map([["x", x]]));
          await session.close();
          ran++;
        } catch { refused++; }
      }
      process.send({ ran, refused });`,
    );
    const child = fork(script, { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    const said = new Promise<{ ran: number; refused: number } | null>((resolve) => {
      child.once("message", (message) => resolve(message as { ran: number; refused: number }));
      child.once("exit", () => resolve(null));
    });
    const found = await said;
    expect(found, "the runtime crashed").not.toBeNull();
    expect(found!.ran + found!.refused).toBe(readable.length);
  }, 120_000);
});

describe(`${rounds} damaged data files`, () => {
  const items = 12;
  const rows = Array.from({ length: items }, (_, i) => [i, i * 0.5, i % 3] as const);
  const npy = (descr: string, bytes: Buffer): Buffer => {
    const head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${items},), }`.padEnd(117);
    return Buffer.concat([Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]), Buffer.from(`${head}\n`), bytes]);
  };
  const column = (k: number): Buffer => Buffer.from(Float64Array.from(rows, (row) => row[k]!).buffer);
  const originals: Record<string, Buffer> = {
    csv: Buffer.from(`a,b,y\n${rows.map((row) => row.join(",")).join("\n")}\n`),
    jsonl: Buffer.from(rows.map(([a, b, y]) => JSON.stringify({ a, b, y })).join("\n")),
    npz: Buffer.from(
      zipSync({ "a.npy": npy("<f8", column(0)), "b.npy": npy("<f8", column(1)), "y.npy": npy("<f8", column(2)) }, { level: 6 }),
    ),
  };
  const header = {
    inputs: [{ name: "x", datatype: "FP32" as const, shape: [-1, 2] }],
    outputs: [{ name: "p", datatype: "FP32" as const, shape: [-1, 3] }],
    unsupportedOutputs: [],
  };
  const { workload } = parseWorkload(`
apiVersion: assay/v1
name: fuzz
class: online
models: [{ id: m, path: m.onnx }]
data:
  path: d.csv
  inputs: { x: { field: [a, b] } }
  labels: y
  score: { decode: argmax }
  task: classification
  split: { calibration: 2, tuning: 2, holdout: 8 }
traffic: {}
targets: { latencyMs: { p99: 10 } }
`);
  it("are read whole or refused with a code that names the file, in bounded memory", async () => {
    const stream = randomStream("fuzz", "data");
    const before = megabytes();
    let [whole, refused] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const ending = Object.keys(originals)[round % 3]!;
      const path = `${round}.${ending}`;
      writeFileSync(join(folder, path), corrupt(originals[ending]!, stream));
      const asked = structuredClone(workload!);
      asked.data.path = path;
      try {
        const dataset = await loadDataset(asked, folder, [{ id: "m", header: header as never }]);
        const { data } = dataset.stack("m", dataset.splits.holdout).get("x")!;
        expect(data).toHaveLength(16);
        expect(Array.from(data as Float32Array).every(Number.isFinite)).toBe(true);
        whole++;
      } catch (fault) {
        expect(fault, `round ${round}: ${String(fault)}`).toBeInstanceOf(AssayError);
        expect((fault as AssayError).code).toMatch(/^DATA_/);
        refused++;
      }
    }
    expect(megabytes() - before).toBeLessThan(300);
    expect(whole).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(200);
  }, 60_000);
});
