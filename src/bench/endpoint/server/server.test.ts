import { describe, expect, it } from "vitest";
import { parseExposition } from "./exposition.ts";
import { countOf, misfits, toldBy } from "./told.ts";

const read = (text: string) => parseExposition(text)!;

describe("Prometheus' text format", () => {
  it("reads names, labels with escapes, values, times and exemplars", () => {
    expect(
      read(`# HELP a b\n# TYPE a counter\na 1\nb{x="1",y="a\\"b\\\\c\\nd,}"} 2.5e3 1700000000\nc{} +Inf # {trace_id="t"} 1\n`),
    ).toEqual([
      { name: "a", labels: {}, value: 1 },
      { name: "b", labels: { x: "1", y: 'a"b\\c\nd,}' }, value: 2500 },
      { name: "c", labels: {}, value: Number.POSITIVE_INFINITY },
    ]);
  });
  it("is none of that format", () => expect(parseExposition("<!doctype html>\n<html><body>no such page</body></html>")).toBeNull());
});

describe("what a server tells", () => {
  const vllm = (answered: number, queue: number, running: number, cached: number) =>
    read(
      [
        `vllm:request_success_total{model_name="m",finished_reason="stop"} ${answered - 2}`,
        `vllm:request_success_total{model_name="m",finished_reason="length"} 2`,
        `vllm:request_success_total{model_name="other",finished_reason="length"} ${100 * answered}`,
        `vllm:request_queue_time_seconds_sum{model_name="m"} ${queue}`,
        `vllm:request_queue_time_seconds_count{model_name="m"} ${answered}`,
        `vllm:num_requests_running{model_name="m"} ${running}`,
        `vllm:kv_cache_usage_perc{model_name="m"} 0.25`,
        `vllm:prefix_cache_queries_total{model_name="m"} ${100 * answered}`,
        `vllm:prefix_cache_hits_total{model_name="m"} ${cached}`,
      ].join("\n"),
    );
  const told = toldBy("u", "m", [vllm(10, 1, 9, 0), vllm(20, 2, 4, 5), vllm(30, 3, 8, 10), vllm(50, 5, 0, 40)]);

  it("is the growth of the counters of the model that was measured", () => {
    expect(countOf(told, "answered")).toBe(40);
    expect(countOf(told, "cache hits")).toBe(40);
    expect(countOf(told, "failed")).toBeNull();
  });
  it("is the mean times of a request, and the gauges while the load ran", () => {
    expect(told.times).toEqual([{ what: "queue", meanMs: 100, count: 40 }]);
    expect(told.gauges).toEqual([
      { what: "running", mean: 6, most: 8 },
      { what: "key/value cache used", mean: 0.25, most: 0.25 },
    ]);
  });
  it("reads Triton's sums in microseconds", () => {
    const triton = (n: number) =>
      read(
        `nv_inference_request_success{model="m",version="1"} ${n}\nnv_inference_request_failure{model="m",reason="OTHER"} ${n / 10}\nnv_inference_queue_duration_us{model="m"} ${1500 * n}`,
      );
    const found = toldBy("u", "m", [triton(0), triton(100)]);
    expect(found.times).toEqual([{ what: "queue", meanMs: 1.5, count: 100 }]);
    expect([countOf(found, "answered"), countOf(found, "failed")]).toEqual([100, 10]);
  });
  it("fits where it counts an error in a stream as an answer, and misses what it refused", () => {
    expect(misfits(told, { sent: 45, good: 38 })).toEqual([]);
  });
  it("does not fit where answers are missing, others use the server, or it started anew", () => {
    expect(misfits(told, { sent: 50, good: 45 })[0]).toMatch(/counts 40 answers, fewer than the 45 good ones/);
    expect(misfits(told, { sent: 30, good: 30 })[0]).toMatch(/others use it too/);
    expect(misfits(toldBy("u", "m", [vllm(10, 1, 0, 0), vllm(5, 0, 0, 0)]), { sent: 5, good: 5 })).toEqual([
      "the server started anew meanwhile: its counters fell",
    ]);
  });
});
