/** The HTTP face of a replica: health, metadata, inference, metrics. One model, version 1. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Batcher } from "./batcher.ts";
import type { Metrics } from "./metrics.ts";
import { ClientFault, encodeAnswer, parseInfer, type ModelInterface } from "./protocol.ts";

export interface Face {
  model: ModelInterface;
  batcher: Batcher;
  metrics: Metrics;
  /** False while draining. */
  ready: () => boolean;
  /** Prometheus text of all replicas. */
  metricsText: () => Promise<string>;
}

const serverName = "assay";
const mostBodyBytes = 64 * 2 ** 20;
const json = { "Content-Type": "application/json" };

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += (piece as Buffer).byteLength;
    if (size > mostBodyBytes) throw new ClientFault(`the body is larger than ${mostBodyBytes} bytes`, 413);
    pieces.push(piece as Buffer);
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function answer(response: ServerResponse, status: number, headers: Record<string, string | number>, body: Uint8Array | string): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(status, { ...headers, "Content-Length": bytes.byteLength });
  response.end(bytes);
}

const say = (response: ServerResponse, status: number, value: unknown): void => answer(response, status, json, JSON.stringify(value));

/** The listener of a replica's HTTP server. */
export function routes({ model, batcher, metrics, ready, metricsText }: Face): RequestListener {
  const metadata = {
    name: model.name,
    versions: ["1"],
    platform: "onnxruntime_onnx",
    inputs: model.inputs,
    outputs: model.outputs,
  };

  const infer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = performance.now();
    try {
      const length = request.headers["inference-header-content-length"];
      const parsed = parseInfer(await readBody(request), length === undefined ? null : Number(length), model);
      const submitted = ready() ? batcher.submit(parsed.inputs, parsed.items) : null;
      if (submitted === null) {
        metrics.failed("QUEUE_FULL");
        say(response, 503, { error: ready() ? "the queue is full" : "the server is ending" });
        return;
      }
      const { outputs, queueMs, computeMs, batchItems } = await submitted;
      const { headerBytes, body } = encodeAnswer(model, parsed, outputs);
      const timing = `queue;dur=${queueMs.toFixed(3)}, compute;dur=${computeMs.toFixed(3)}, batch;desc=${batchItems}`;
      const headers: Record<string, string | number> = {
        "Content-Type": headerBytes === null ? "application/json" : "application/octet-stream",
        "Server-Timing": timing,
      };
      if (headerBytes !== null) headers["Inference-Header-Content-Length"] = headerBytes;
      metrics.succeeded(queueMs, computeMs, performance.now() - started, parsed.items);
      answer(response, 200, headers, body);
    } catch (fault) {
      if (fault instanceof ClientFault) {
        metrics.failed("CLIENT");
        if (fault.status === 413) response.setHeader("Connection", "close");
        say(response, fault.status, { error: fault.message });
      } else if (!response.headersSent && !response.destroyed) {
        metrics.failed("BACKEND");
        say(response, 500, { error: `the model failed: ${fault instanceof Error ? fault.message : String(fault)}` });
      }
    }
  };

  const onModel = async (name: string, rest: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (name !== model.name) return say(response, 404, { error: `model "${name}" is unknown; the server has "${model.name}"` });
    const [, version, tail = ""] = /^(?:\/versions\/([^/]+))?(\/.*)?$/.exec(rest) ?? [];
    if (version !== undefined && version !== "1")
      return say(response, 404, { error: `model "${name}" has no version ${version}; it has 1` });
    const expected = tail === "/infer" ? "POST" : "GET";
    if (!["", "/ready", "/infer"].includes(tail)) return say(response, 404, { error: `${tail} of a model is unknown` });
    if (request.method !== expected && !(expected === "GET" && request.method === "HEAD")) {
      return say(response, 405, { error: `${request.method} is not allowed here; use ${expected}` });
    }
    if (tail === "/infer") return infer(request, response);
    if (tail === "/ready") return answer(response, ready() ? 200 : 503, json, "");
    return say(response, 200, metadata);
  };

  return (request, response) => {
    const path = (request.url ?? "/").split("?")[0]!;
    const found = /^\/v2\/models\/([^/]+)(.*)$/.exec(path);
    if (found) {
      let name = found[1]!;
      try {
        name = decodeURIComponent(name);
      } catch {
        // A name that cannot be decoded is an unknown one.
      }
      void onModel(name, found[2]!, request, response);
      return;
    }
    if (path === "/v2/health/live") answer(response, 200, json, "");
    else if (path === "/v2/health/ready") answer(response, ready() ? 200 : 503, json, "");
    else if (path === "/v2" || path === "/v2/") say(response, 200, { name: serverName, version: "1", extensions: ["binary_tensor_data"] });
    else if (path === "/metrics")
      void metricsText().then((text) => answer(response, 200, { "Content-Type": "text/plain; version=0.0.4" }, text));
    else say(response, 404, { error: `${path} is unknown` });
  };
}
