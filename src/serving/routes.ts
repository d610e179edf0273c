/** The HTTP face of a replica: health, metadata, inference, metrics. One model, version 1. */
import type { Batcher } from "./batcher.ts";
import type { HttpOptions, HttpRequest, Respond } from "./http.ts";
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
const json = { "Content-Type": "application/json" };
const text = { "Content-Type": "text/plain; version=0.0.4" };

const say = (respond: Respond, status: number, value: unknown): void => respond(status, json, JSON.stringify(value));

/** What a replica's HTTP server calls. */
export function routes({ model, batcher, metrics, ready, metricsText }: Face): Pick<HttpOptions, "handler" | "refuse"> {
  const metadata = {
    name: model.name,
    versions: ["1"],
    platform: "onnxruntime_onnx",
    inputs: model.inputs,
    outputs: model.outputs,
  };

  const fail = (respond: Respond, fault: unknown): void => {
    if (fault instanceof ClientFault) {
      metrics.failed("CLIENT");
      say(respond, 400, { error: fault.message });
    } else {
      metrics.failed("BACKEND");
      say(respond, 500, { error: `the model failed: ${fault instanceof Error ? fault.message : String(fault)}` });
    }
  };

  const infer = ({ headers, body }: HttpRequest, respond: Respond): void => {
    const started = performance.now();
    const length = headers.get("inference-header-content-length");
    try {
      const parsed = parseInfer(body, length === undefined ? null : Number(length), model);
      const taken =
        ready() &&
        batcher.submit(parsed.inputs, parsed.items, (found, fault) => {
          try {
            if (!found) throw fault;
            const { outputs, queueMs, computeMs, batchItems } = found;
            const encoded = encodeAnswer(model, parsed, outputs);
            const answerHeaders: Record<string, string | number> = {
              "Content-Type": encoded.headerBytes === null ? "application/json" : "application/octet-stream",
              "Server-Timing": `queue;dur=${queueMs.toFixed(3)}, compute;dur=${computeMs.toFixed(3)}, batch;desc=${batchItems}`,
            };
            if (encoded.headerBytes !== null) answerHeaders["Inference-Header-Content-Length"] = encoded.headerBytes;
            metrics.succeeded(queueMs, computeMs, performance.now() - started, parsed.items);
            respond(200, answerHeaders, encoded.body);
          } catch (cause) {
            fail(respond, cause);
          }
        });
      if (taken) return;
      metrics.failed("QUEUE_FULL");
      say(respond, 503, { error: ready() ? "the queue is full" : "the server is ending" });
    } catch (fault) {
      fail(respond, fault);
    }
  };

  const onModel = (name: string, rest: string, request: HttpRequest, respond: Respond): void => {
    if (name !== model.name) {
      if (rest.endsWith("/infer")) metrics.failed("CLIENT");
      return say(respond, 404, { error: `model "${name}" is unknown; the server has "${model.name}"` });
    }
    const [, version, tail = ""] = /^(?:\/versions\/([^/]+))?(\/.*)?$/.exec(rest) ?? [];
    if (version !== undefined && version !== "1")
      return say(respond, 404, { error: `model "${name}" has no version ${version}; it has 1` });
    const expected = tail === "/infer" ? "POST" : "GET";
    if (!["", "/ready", "/infer"].includes(tail)) return say(respond, 404, { error: `${tail} of a model is unknown` });
    if (request.method !== expected && !(expected === "GET" && request.method === "HEAD")) {
      return say(respond, 405, { error: `${request.method} is not allowed here; use ${expected}` });
    }
    if (tail === "/infer") return infer(request, respond);
    if (tail === "/ready") return respond(ready() ? 200 : 503, json, "");
    return say(respond, 200, metadata);
  };

  const handler = (request: HttpRequest, respond: Respond): void => {
    const { path } = request;
    const found = /^\/v2\/models\/([^/]+)(.*)$/.exec(path);
    if (found) {
      let name = found[1]!;
      try {
        name = decodeURIComponent(name);
      } catch {
        // A name that cannot be decoded is an unknown one.
      }
      onModel(name, found[2]!, request, respond);
      return;
    }
    if (path === "/v2/health/live") respond(200, json, "");
    else if (path === "/v2/health/ready") respond(ready() ? 200 : 503, json, "");
    else if (path === "/v2" || path === "/v2/") say(respond, 200, { name: serverName, version: "1", extensions: ["binary_tensor_data"] });
    else if (path === "/metrics") void metricsText().then((metricText) => respond(200, text, metricText));
    else say(respond, 404, { error: `${path} is unknown` });
  };

  const refuse = (status: number, why: string, respond: Respond): void => {
    metrics.failed("CLIENT");
    say(respond, status, { error: why });
  };

  return { handler, refuse };
}
