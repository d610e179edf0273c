/** What the server counts, under the names that Triton gives them. Refused requests count too. */
import { Counter, Gauge, Registry } from "prom-client";

const failureReasons = ["CLIENT", "QUEUE_FULL", "BACKEND"] as const;
export type FailureReason = (typeof failureReasons)[number];

export interface Metrics {
  succeeded(queueMs: number, computeMs: number, requestMs: number, items: number): void;
  failed(reason: FailureReason): void;
  registry: Registry;
}

export function createMetrics(model: string, waiting: () => number): Metrics {
  const registry = new Registry();
  const counter = (name: string, help: string, more: string[] = []): Counter =>
    new Counter({ name, help, labelNames: ["model", "version", ...more], registers: [registry] });
  const labels = { model, version: "1" };
  const success = counter("nv_inference_request_success", "Inference requests answered").labels(labels);
  const failure = counter("nv_inference_request_failure", "Inference requests refused or failed, by reason", ["reason"]);
  const count = counter("nv_inference_count", "Items answered").labels(labels);
  const request = counter("nv_inference_request_duration_us", "Time of answered requests in the server, microseconds").labels(labels);
  const queue = counter("nv_inference_queue_duration_us", "Time of answered requests in the queue, microseconds").labels(labels);
  const compute = counter("nv_inference_compute_infer_duration_us", "Time of answered requests in the model, microseconds").labels(labels);
  for (const reason of failureReasons) failure.labels({ ...labels, reason }).inc(0);
  new Gauge({
    name: "nv_inference_pending_request_count",
    help: "Requests that wait",
    labelNames: ["model", "version"],
    registers: [registry],
    collect() {
      this.set(labels, waiting());
    },
  });
  return {
    registry,
    succeeded(queueMs, computeMs, requestMs, items) {
      success.inc();
      count.inc(items);
      queue.inc(queueMs * 1000);
      compute.inc(computeMs * 1000);
      request.inc(requestMs * 1000);
    },
    failed: (reason) => failure.labels({ ...labels, reason }).inc(),
  };
}
