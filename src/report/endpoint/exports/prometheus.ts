/**
 * A run in Prometheus' text format: the figures of each visit as gauges, its outcomes as a counter, its latencies
 * as classic histograms in seconds. For the textfile collector or a push gateway.
 */
import { describeEndpoint, describeLoad, type EndpointRun, type EndpointVisit } from "../../../bench/index.ts";
import { durationBounds, firstTokenBounds, histogramOf, perTokenBounds } from "./buckets.ts";

type Labels = Readonly<Record<string, string>>;
const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`)
    .join(",");

interface Family {
  name: string;
  type: "gauge" | "counter" | "histogram";
  help: string;
  samples: (visit: EndpointVisit, labels: Labels) => string[];
}

const sample = (name: string, labels: Labels, value: number): string => `${name}{${labelText(labels)}} ${value}`;

const gauge = (name: string, help: string, of: (visit: EndpointVisit) => number): Family => ({
  name,
  type: "gauge",
  help,
  samples: (visit, labels) => [sample(name, labels, of(visit))],
});

const histogram = (name: string, help: string, tag: string, bounds: readonly number[]): Family => ({
  name,
  type: "histogram",
  help,
  samples: ({ table }, labels) => {
    const { counts, sum, count } = histogramOf(table, tag, bounds, 0.001);
    if (count === 0) return [];
    let below = 0;
    const buckets = bounds.map((bound, at) => sample(`${name}_bucket`, { ...labels, le: String(bound) }, (below += counts[at]!)));
    return [
      ...buckets,
      sample(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
      sample(`${name}_sum`, labels, sum),
      sample(`${name}_count`, labels, count),
    ];
  },
});

const families: readonly Family[] = [
  gauge("assay_bench_valid", "1 where the visit is valid", ({ run }) => Number(run.valid)),
  gauge("assay_bench_requests_per_second", "requests sent per second", ({ run }) => run.achievedPerSecond),
  gauge("assay_bench_output_tokens_per_second", "output tokens that arrived per second", ({ figures }) => figures.outputPerSecond),
  gauge("assay_bench_generator_lag_p99_seconds", "99th percentile of the generator's own lag", ({ run }) => run.lagP99Ms / 1000),
  {
    name: "assay_bench_requests_total",
    type: "counter",
    help: "scheduled requests by what became of them",
    samples: ({ run }, labels) =>
      Object.entries(run.ledger).map(([outcome, count]) => sample("assay_bench_requests_total", { ...labels, outcome }, count)),
  },
  histogram("assay_bench_request_duration_seconds", "due to last token or byte", "e2e", durationBounds),
  histogram("assay_bench_time_to_first_token_seconds", "due to first token-bearing event", "ttft", firstTokenBounds),
  histogram("assay_bench_time_per_output_token_seconds", "mean of a request after its first token", "tpot", perTokenBounds),
];

export const toPrometheus = ({ question, visits }: EndpointRun): string =>
  families
    .map(({ name, type, help, samples }) => {
      const lines = visits.flatMap((visit, at) =>
        samples(visit, {
          visit: String(at + 1),
          endpoint: describeEndpoint(question.endpoints[visit.endpoint]!),
          load: describeLoad(visit.load),
        }),
      );
      return lines.length === 0 ? "" : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`;
    })
    .join("");
