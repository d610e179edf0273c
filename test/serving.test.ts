import { spawn } from "node:child_process";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readModelHeader } from "../src/artifact/index.ts";
import { entryUrl } from "../src/host/index.ts";
import { startServer, type ModelServer, type ServerOptions } from "../src/serving/index.ts";
import { defaultServing, defaultSession } from "../src/workload/index.ts";

const path = new URL("../examples/digits/models/mlp.onnx", import.meta.url).pathname;
const items = 784;

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  json(): { error?: string; outputs?: { name: string; shape: number[]; data: number[] }[]; id?: string };
}

async function options(serving: Partial<ServerOptions["serving"]> = {}): Promise<ServerOptions> {
  const { inputs, outputs } = await readModelHeader(path);
  return { model: { name: "mlp", path, inputs, outputs }, session: defaultSession(1), serving: { ...defaultServing, ...serving } };
}

function call(
  server: ModelServer,
  method: string,
  to: string,
  body?: Buffer | string,
  headers: Record<string, string | number> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: server.host, port: server.port, method, path: to, headers: { Connection: "close", ...headers } },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("end", () => {
          const whole = Buffer.concat(pieces);
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: whole,
            json: () => JSON.parse(whole.toString()) as ReturnType<Reply["json"]>,
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

const infer = "/v2/models/mlp/infer";
const image = (value: number): number[] => Array.from({ length: items }, (_, i) => (i % 7) * value);
const oneInput = (more: object = {}): string =>
  JSON.stringify({ inputs: [{ name: "x", shape: [1, items], datatype: "FP32", data: image(0.1), ...more }] });

describe("the model server", () => {
  let server: ModelServer;
  let logits: number[];
  beforeAll(async () => {
    server = await startServer(await options());
    logits = (await call(server, "POST", infer, oneInput())).json().outputs![0]!.data;
  });
  afterAll(() => server.close());

  it("answers health and metadata", async () => {
    expect((await call(server, "GET", "/v2/health/ready")).status).toBe(200);
    expect((await call(server, "GET", "/v2/models/mlp/versions/1/ready")).status).toBe(200);
    const metadata = (await call(server, "GET", "/v2/models/mlp")).json() as unknown as { inputs: unknown[]; versions: string[] };
    expect(metadata.inputs).toEqual([{ name: "x", datatype: "FP32", shape: [-1, items] }]);
    expect(metadata.versions).toEqual(["1"]);
  });

  it("gives the same answer for nested, flat and binary tensors", async () => {
    const nested = JSON.stringify({ id: "a7", inputs: [{ name: "x", shape: [1, items], datatype: "FP32", data: [image(0.1)] }] });
    const reply = (await call(server, "POST", infer, nested)).json();
    expect(reply.id).toBe("a7");
    expect(reply.outputs![0]!.data).toEqual(logits);
    const head = Buffer.from(
      JSON.stringify({
        inputs: [{ name: "x", shape: [1, items], datatype: "FP32", parameters: { binary_data_size: 4 * items } }],
        outputs: [{ name: "logits", parameters: { binary_data: true } }],
      }),
    );
    const body = Buffer.concat([head, Buffer.from(Float32Array.from(image(0.1)).buffer)]);
    const binary = await call(server, "POST", infer, body, { "Inference-Header-Content-Length": head.byteLength });
    const length = Number(binary.headers["inference-header-content-length"]);
    const found = new Float32Array(new Uint8Array(binary.body.subarray(length)).buffer);
    expect([...found].map((value) => value.toPrecision(6))).toEqual(logits.map((value) => value.toPrecision(6)));
    expect(binary.headers["server-timing"]).toMatch(/^queue;dur=[\d.]+, compute;dur=[\d.]+, batch;desc=1$/);
  });

  it.each([
    ["no JSON", '{"inputs":[', /no JSON/],
    ["an empty body", "", /no JSON/],
    ["no inputs", "{}", /no list "inputs"/],
    ["an unknown input", oneInput({ name: "y" }), /input "y" is unknown; the model has x/],
    ["a missing shape", oneInput({ shape: undefined }), /no "shape"/],
    ["another shape", oneInput({ shape: [1, 4], data: [1, 2, 3, 4] }), /\[1,4\]; the model expects \[-1,784\]/],
    ["another type", oneInput({ datatype: "INT32" }), /INT32; the model expects FP32/],
    ["an unknown type", oneInput({ datatype: "FP8" }), /FP8/],
    ["too few elements", oneInput({ data: [1, 2, 3] }), /3 elements; its shape asks for 784/],
    ["texts for numbers", oneInput({ data: image(1).map(String) }), /element 0 is "0"; expected a number/],
    ["an empty batch", oneInput({ shape: [0, items], data: [] }), /no item/],
    [
      "an unknown output",
      JSON.stringify({ ...(JSON.parse(oneInput()) as object), outputs: [{ name: "nope" }] }),
      /output "nope" is unknown/,
    ],
  ])("refuses %s with 400 and names it", async (_, body, message) => {
    const reply = await call(server, "POST", infer, body);
    expect(reply.status).toBe(400);
    expect(reply.json().error).toMatch(message);
  });

  it("refuses unknown models, paths and methods", async () => {
    expect((await call(server, "POST", "/v2/models/nope/infer", oneInput())).status).toBe(404);
    expect((await call(server, "GET", "/v2/models/nope/ready")).status).toBe(404);
    expect((await call(server, "GET", "/v2/models/mlp/versions/2")).status).toBe(404);
    expect((await call(server, "GET", infer)).status).toBe(405);
    expect((await call(server, "GET", "/nope")).status).toBe(404);
  });

  it("refuses a binary header that is longer than the body", async () => {
    expect((await call(server, "POST", infer, "{}", { "Inference-Header-Content-Length": 99 })).json().error).toMatch(
      /is 99; the body has 2 bytes/,
    );
  });

  it("counts refused requests too", async () => {
    const text = (await call(server, "GET", "/metrics")).body.toString();
    const value = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
    expect(value('nv_inference_request_failure\\{model="mlp",version="1",reason="CLIENT"\\}')).toBeGreaterThan(10);
    expect(value('nv_inference_request_success\\{model="mlp",version="1"\\}')).toBeGreaterThan(2);
  });
});

describe("replicas and batches", () => {
  it("joins waiting requests and gives each its own answer", async () => {
    const server = await startServer(await options({ batchSize: 8, batchDelayMs: 100 }));
    try {
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, i) => call(server, "POST", infer, oneInput({ data: image(i / 10) }))),
      );
      const alone = await Promise.all(
        [0, 5].map(async (i) => (await call(server, "POST", infer, oneInput({ data: image(i / 10) }))).json().outputs![0]!.data),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200));
      expect(Math.max(...replies.map(({ headers }) => Number(/desc=(\d+)/.exec(String(headers["server-timing"]))![1])))).toBeGreaterThan(2);
      for (const [at, i] of [0, 5].entries()) {
        replies[i]!.json().outputs![0]!.data.forEach((value, k) => expect(value).toBeCloseTo(alone[at]![k]!, 3));
      }
    } finally {
      await server.close();
    }
  });

  it("answers 503 when the queue is full", async () => {
    const server = await startServer(await options({ batchSize: 2, batchDelayMs: 300, queueLimit: 1 }));
    try {
      const replies = await Promise.all(Array.from({ length: 12 }, () => call(server, "POST", infer, oneInput())));
      const refused = replies.filter(({ status }) => status === 503);
      expect(refused.length).toBeGreaterThan(0);
      expect(refused[0]!.json().error).toMatch(/queue is full/);
    } finally {
      await server.close();
    }
  });

  it("runs replicas as processes, sums their metrics, and ends them all", async () => {
    const server = await startServer(await options({ replicas: 2 }));
    expect(server.pids()).toHaveLength(3);
    await Promise.all(Array.from({ length: 10 }, () => call(server, "POST", infer, oneInput())));
    expect((await call(server, "GET", "/metrics")).body.toString()).toMatch(/nv_inference_request_success\{model="mlp",version="1"\} 10\n/);
    await server.close();
    expect(server.pids().filter((pid) => alive(pid))).toEqual([]);
  });

  it("answers what it has taken before it ends", async () => {
    const server = await startServer(await options({ batchSize: 4, batchDelayMs: 400 }));
    const pending = call(server, "POST", infer, oneInput());
    await new Promise((resolve) => setTimeout(resolve, 150));
    await server.close();
    expect((await pending).status).toBe(200);
    expect((await server.exited).code).toBe(0);
  });
});

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("faults of the server", () => {
  it("says why it did not start", async () => {
    const broken = await options();
    broken.model.path = new URL("serving.test.ts", import.meta.url).pathname;
    await expect(startServer(broken)).rejects.toMatchObject({ code: "SERVER_START" });
  });

  it("leaves no process when its parent is killed", async () => {
    const module = entryUrl(new URL("../src/serving/x.ts", import.meta.url).href, "./index.js").href;
    const script = `import(${JSON.stringify(module)}).then(async ({ startServer }) => {
      const server = await startServer(${JSON.stringify(await options({ replicas: 2 }))});
      console.log(JSON.stringify(server.pids()));
    });`;
    const parent = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const pids = await new Promise<number[]>((resolve) =>
      parent.stdout.once("data", (line: Buffer) => resolve(JSON.parse(line.toString()) as number[])),
    );
    parent.kill("SIGKILL");
    await expect.poll(() => pids.filter(alive), { timeout: 6000 }).toEqual([]);
  });
});
