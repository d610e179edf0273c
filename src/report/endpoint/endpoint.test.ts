import { tableFromIPC } from "apache-arrow";
import { HistogramLogReader } from "hdr-histogram-js";
import { describe, expect, it } from "vitest";
import { endpointRun } from "../../../test/fixtures/endpoint-run.ts";
import { compareRuns, type EndpointRun } from "../../bench/index.ts";
import { renderRunComparison } from "./comparison.ts";
import { endpointExports } from "./exports/index.ts";
import { renderEndpointHtml } from "./page.ts";
import { renderEndpoint } from "./terminal.ts";

const evil = `<script>alert("x")</script>'&|`;
const pairs = Array.from({ length: 12 }, (_, k) => ({ ttft: (i: number) => (k % 2 ? 10 : 20) + (i % 10) + 0.1 * k }));
const runs: [string, EndpointRun][] = [
  ["one run", endpointRun({ kind: "one" }, [{ failed: [3, 4], model: evil }])],
  ["a run of failures", endpointRun({ kind: "one" }, [{ requests: 2, failed: [0, 1] }])],
  ["a run of one request", endpointRun({ kind: "one" }, [{ requests: 1 }])],
  ["a sweep", endpointRun({ kind: "sweep", ratesPerSecond: [10, 20, 300] }, [{}, {}, { ttft: (k) => 20 + k }])],
  ["a capacity", endpointRun({ kind: "capacity", startPerSecond: 20 }, [{}, { ttft: () => 90 }])],
  ["a comparison", endpointRun({ kind: "against", pairs: 6 }, pairs)],
  ["nothing", endpointRun({ kind: "one" }, [])],
];

describe.each(runs)("%s", (_, run) => {
  const html = renderEndpointHtml(run);
  it("is drawn without a figure that is none, and without an outside request", () => {
    for (const text of [html, renderEndpoint(run, "folder"), endpointExports.markdown.write(run)])
      expect(text).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect(html).not.toMatch(/(src|href)="(?!#)|url\(|@import|<script/);
    expect(renderEndpointHtml(run)).toBe(html);
  });
  it("has a cell for every head of its tables", () => {
    for (const [table] of html.matchAll(/<table>.*?<\/table>/gs)) {
      const columns = table.match(/<th scope="col">/g)!.length;
      for (const [body] of table.matchAll(/<tbody>.*<\/tbody>/gs))
        for (const one of body.split("<tr").slice(1)) expect(one.match(/<t[dh][ >]/g)!.length).toBe(columns);
    }
  });
});

describe("exports", () => {
  const run = endpointRun({ kind: "one" }, [{ failed: [3, 4], model: evil }]);
  it("CSV: every row has every column", () => {
    const rows = endpointExports.csv.write(run).trim().split("\n");
    const plain = rows.map((row) => row.replaceAll(/"(?:[^"]|"")*"/g, "x").split(",").length);
    expect(new Set(plain)).toEqual(new Set([20]));
    expect(rows.find((row) => row.includes(",ttft,"))).toMatch(/,ttft,ms,200,2,24\.\d+,25,/);
  });
  it("Prometheus: buckets rise to the count, outcomes sum to the requests", () => {
    const text = endpointExports.prometheus.write(run);
    for (const line of text.trim().split("\n")) expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+\{(\w+="([^"\\]|\\.)*",?)+\} [\d.e+-]+)$/);
    const buckets = [...text.matchAll(/first_token_seconds_bucket\{.*le="([^"]+)"\} (\d+)/g)].map(
      ([, le, n]) => [Number(le), Number(n)] as const,
    );
    expect(buckets.find(([le]) => le === 0.02)![1]).toBe(20);
    expect(buckets.find(([le]) => le === 0.04)![1]).toBe(198);
    expect(text).toMatch(/first_token_seconds_bucket\{.*le="\+Inf"\} 198/);
    expect([...text.matchAll(/requests_total\{.*\} (\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0)).toBe(200);
  });
  it("OTLP: counts of the buckets sum to the count", () => {
    const { resourceMetrics } = JSON.parse(endpointExports.otlp.write(run)) as {
      resourceMetrics: {
        scopeMetrics: {
          metrics: { name: string; histogram: { dataPoints: { count: string; bucketCounts: string[]; explicitBounds: number[] }[] } }[];
        }[];
      }[];
    };
    const metrics = resourceMetrics[0]!.scopeMetrics[0]!.metrics;
    expect(metrics.map(({ name, histogram }) => [name, histogram.dataPoints.length])).toEqual([
      ["gen_ai.client.operation.duration", 1],
      ["gen_ai.server.time_to_first_token", 1],
      ["gen_ai.server.time_per_output_token", 1],
      ["gen_ai.client.token.usage", 2],
    ]);
    for (const { histogram } of metrics)
      for (const { count, bucketCounts, explicitBounds } of histogram.dataPoints) {
        expect(bucketCounts).toHaveLength(explicitBounds.length + 1);
        expect(bucketCounts.reduce((sum, n) => sum + Number(n), 0)).toBe(Number(count));
      }
  });
  it("HdrHistogram: a reader of the format finds the percentiles", () => {
    const reader = new HistogramLogReader(endpointExports.hdr.write(run));
    for (let found = reader.nextIntervalHistogram(); found; found = reader.nextIntervalHistogram()) {
      if ((found as { tag?: string }).tag !== "visit1.ttft") continue;
      expect(found.totalCount).toBe(198);
      expect(found.getValueAtPercentile(50) / 1000).toBeCloseTo(25, 1);
      return;
    }
    throw new Error("no histogram of the TTFT");
  });
  it("Arrow: every request with its stamps since the window's start", () => {
    const table = tableFromIPC(endpointExports.arrow.write(run));
    expect(table.numRows).toBe(200);
    expect(table.getChild("visit")!.get(0)).toBe(1);
    expect(Number(table.getChild("firstTokenNs")!.get(1)) / 1e6).toBeCloseTo(50 + 21, 6);
  });
  it("JUnit: failures where the answer is one", () => {
    const slow = endpointRun({ kind: "one" }, [{ requests: 400, ttft: () => 90 }]);
    // A stall touched it, so the miss is not certain.
    expect(endpointExports.junit.write(slow)).toMatch(/tests="3" failures="0" errors="0" skipped="2"/);
    slow.visits[0]!.figures.targets[0]!.result = "fail";
    expect(endpointExports.junit.write(slow)).toMatch(/failures="2"/);
  });
});

describe("runs that were made by themselves", () => {
  const many = (base: number, count: number): EndpointRun[] =>
    Array.from({ length: count }, (_, k) => endpointRun({ kind: "one" }, [{ ttft: (i) => base * (1 + 0.01 * k) + (i % 10) }]));
  it("of one run a side nothing can be told", () => {
    const found = compareRuns(many(20, 1), many(40, 1));
    expect(found.figures[0]).toMatchObject({ what: "ttft.p50", answer: "cannot tell yet", ratio: null, moreRuns: 4 });
    expect(found.figures[0]!.first).toMatchObject({ value: 24, runs: 1 });
    expect(renderRunComparison(found)).toMatch(/One run a side says nothing of the noise/);
  });
  it("of five the ratio is told with its interval", () => {
    const { figures, unlike } = compareRuns(many(20, 5), many(40, 5));
    expect(figures[0]).toMatchObject({ answer: "worse", moreRuns: 0 });
    expect(figures[0]!.ratio!.low).toBeGreaterThan(1.75);
    expect(figures[0]!.ratio!.high).toBeLessThan(1.92);
    expect(unlike).toEqual([]);
    expect(compareRuns(many(40, 5), many(20, 5)).figures[0]!.answer).toBe("better");
  });
  it("says where the work was not the same, and refuses what has no load in common", () => {
    const other = endpointRun({ kind: "one" }, [{ model: "other" }]);
    expect(compareRuns(many(20, 1), [other]).unlike).toEqual(['model: "m" and "other"']);
    const sweep = endpointRun({ kind: "sweep", ratesPerSecond: [1, 2] }, [{}, {}]);
    expect(() => compareRuns(many(20, 1), [sweep])).toThrow(/no load in common/);
  });
});
