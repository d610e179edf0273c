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

/** Calls back with the whole body, or with a fault when it is too large; with nothing when the client leaves. */
function readBody(request: IncomingMessage, done: (body: Uint8Array | ClientFault) => void): void {
  const pieces: Buffer[] = [];
  let size = 0;
  let over = false;
  request.on("data", (piece: Buffer) => {
    size += piece.byteLength;
    if (size <= mostBodyBytes) pieces.push(piece);
    else if (!over) {
      over = true;
      done(new ClientFault(`the body is larger than ${mostBodyBytes} bytes`, 413));
    }
  });
  request.on("end", () => over || done(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
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

  const refuse = (response: ServerResponse, fault: unknown): void => {
    if (response.destroyed || response.headersSent) return;
    if (fault instanceof ClientFault) {
      metrics.failed("CLIENT");
      if (fault.status === 413) response.setHeader("Connection", "close");
      say(response, fault.status, { error: fault.message });
    } else {
      metrics.failed("BACKEND");
      say(response, 500, { error: `the model failed: ${fault instanceof Error ? fault.message : String(fault)}` });
    }
  };

  const infer = (request: IncomingMessage, response: ServerResponse): void => {
    const length = request.headers["inference-header-content-length"];
    if (Number(request.headers["content-length"] ?? 0) > mostBodyBytes) {
      request.resume();
      return refuse(response, new ClientFault(`the body is larger than ${mostBodyBytes} bytes`, 413));
    }
    readBody(request, (body) => {
      const started = performance.now();
      try {
        if (body instanceof ClientFault) throw body;
        const parsed = parseInfer(body, length === undefined ? null : Number(length), model);
        const taken =
          ready() &&
          batcher.submit(parsed.inputs, parsed.items, (found, fault) => {
            try {
              if (!found) throw fault;
              const { outputs, queueMs, computeMs, batchItems } = found;
              const encoded = encodeAnswer(model, parsed, outputs);
              const headers: Record<string, string | number> = {
                "Content-Type": encoded.headerBytes === null ? "application/json" : "application/octet-stream",
                "Server-Timing": `queue;dur=${queueMs.toFixed(3)}, compute;dur=${computeMs.toFixed(3)}, batch;desc=${batchItems}`,
              };
              if (encoded.headerBytes !== null) headers["Inference-Header-Content-Length"] = encoded.headerBytes;
              metrics.succeeded(queueMs, computeMs, performance.now() - started, parsed.items);
              answer(response, 200, headers, encoded.body);
            } catch (cause) {
              refuse(response, cause);
            }
          });
        if (taken) return;
        metrics.failed("QUEUE_FULL");
        say(response, 503, { error: ready() ? "the queue is full" : "the server is ending" });
      } catch (fault) {
        refuse(response, fault);
      }
    });
  };

  const onModel = (name: string, rest: string, request: IncomingMessage, response: ServerResponse): void => {
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
      onModel(name, found[2]!, request, response);
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
