/**
 * A run as OpenTelemetry metrics: one OTLP/JSON request for a collector's /v1/metrics, named by the GenAI
 * conventions (in development, as of v1.41.1). No prompt or answer is in it.
 */
import { describeLoad, type Endpoint, type EndpointRun, type EndpointVisit } from "../../../bench/index.ts";
import { durationBounds, firstTokenBounds, histogramOf, perTokenBounds, tokenBounds } from "./buckets.ts";

interface Attribute {
  key: string;
  value: { stringValue: string } | { intValue: string };
}
const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } });

const operations: Record<string, string> = {
  "openai-completions": "text_completion",
  "openai-embeddings": "embeddings",
  "triton-generate": "text_completion",
};

function attributesOf(endpoint: Endpoint, visit: number): Attribute[] {
  const { hostname, port, protocol } = new URL(endpoint.url);
  const own =
    endpoint.protocol === "prompt"
      ? [
          text("gen_ai.operation.name", operations[endpoint.api] ?? "chat"),
          text(
            "gen_ai.provider.name",
            endpoint.api === "anthropic-messages" ? "anthropic" : endpoint.api.startsWith("openai") ? "openai" : "triton",
          ),
          text("gen_ai.request.model", endpoint.model),
        ]
      : [
          text("gen_ai.operation.name", "inference"),
          ...(endpoint.protocol === "oip" ? [text("gen_ai.request.model", endpoint.model)] : []),
        ];
  return [
    ...own,
    text("server.address", hostname),
    { key: "server.port", value: { intValue: port || (protocol === "https:" ? "443" : "80") } },
    { key: "assay.visit", value: { intValue: String(visit) } },
  ];
}

const instruments = [
  { name: "gen_ai.client.operation.duration", tag: "e2e", unit: "s", scale: 0.001, bounds: durationBounds, more: [] },
  { name: "gen_ai.server.time_to_first_token", tag: "ttft", unit: "s", scale: 0.001, bounds: firstTokenBounds, more: [] },
  { name: "gen_ai.server.time_per_output_token", tag: "tpot", unit: "s", scale: 0.001, bounds: perTokenBounds, more: [] },
  {
    name: "gen_ai.client.token.usage",
    tag: "input",
    unit: "{token}",
    scale: 1,
    bounds: tokenBounds,
    more: [text("gen_ai.token.type", "input")],
  },
  {
    name: "gen_ai.client.token.usage",
    tag: "output",
    unit: "{token}",
    scale: 1,
    bounds: tokenBounds,
    more: [text("gen_ai.token.type", "output")],
  },
] as const;

function pointOf(visit: EndpointVisit, attributes: Attribute[], { tag, scale, bounds }: (typeof instruments)[number]): object | null {
  const { counts, sum, count } = histogramOf(visit.table, tag, bounds, scale);
  if (count === 0) return null;
  const startMs = Date.parse(visit.startedAt);
  return {
    attributes,
    startTimeUnixNano: `${startMs}000000`,
    timeUnixNano: `${startMs + Math.ceil(visit.context.windowMs)}000000`,
    count: String(count),
    sum,
    bucketCounts: counts.map(String),
    explicitBounds: bounds,
  };
}

export function toOtlp({ question, visits }: EndpointRun): string {
  const points = new Map<string, { unit: string; dataPoints: object[] }>();
  for (const [at, visit] of visits.entries())
    for (const instrument of instruments) {
      const own = [
        ...attributesOf(question.endpoints[visit.endpoint]!, at + 1),
        text("assay.load", describeLoad(visit.load)),
        ...instrument.more,
      ];
      const point = pointOf(visit, own, instrument);
      if (!point) continue;
      const found = points.get(instrument.name) ?? { unit: instrument.unit, dataPoints: [] };
      found.dataPoints.push(point);
      points.set(instrument.name, found);
    }
  const metrics = [...points].map(([name, { unit, dataPoints }]) => ({
    name,
    unit,
    // 1 = delta: each point is the whole of its visit.
    histogram: { aggregationTemporality: 1, dataPoints },
  }));
  const document = {
    resourceMetrics: [
      { resource: { attributes: [text("service.name", "assay-bench")] }, scopeMetrics: [{ scope: { name: "assay" }, metrics }] },
    ],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
