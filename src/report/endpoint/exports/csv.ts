/** A run as comma-separated values: a row for each figure of each visit. */
import { describeEndpoint, describeLoad, rateOf, type EndpointRun } from "../../../bench/index.ts";

const cell = (value: string | number | null): string => {
  if (value === null) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const head = [
  "visit",
  "endpoint",
  "load",
  "asked_per_second",
  "sent_per_second",
  "valid",
  "requests",
  "good",
  "metric",
  "unit",
  "count",
  "missing",
  "mean",
  "p50",
  "p90",
  "p95",
  "p99",
  "p99_low",
  "p99_high",
  "p99_certified",
];

export function toCsv({ question, visits }: EndpointRun): string {
  const rows = visits.flatMap(({ endpoint, load, context, run, table, figures }, at) => {
    const own = [
      at + 1,
      describeEndpoint(question.endpoints[endpoint]!),
      describeLoad(load),
      rateOf(load, context),
      run.achievedPerSecond,
      String(run.valid),
      table.length,
      run.ledger.good,
    ];
    const metrics = figures.metrics
      .filter(({ count }) => count > 0)
      .map(({ tag, unit, count, missing, mean, percentiles }) => {
        const [p99] = percentiles.slice(-1);
        return [tag, unit, count, missing, mean, ...percentiles.map(({ value }) => value), p99!.low, p99!.high, p99!.certified];
      });
    const rate = ["output-tokens", "per second", null, null, figures.outputPerSecond, ...Array<null>(7).fill(null)];
    return [...metrics, ...(figures.outputPerSecond > 0 ? [rate] : [])].map((metric) => [...own, ...metric]);
  });
  return `${[head, ...rows].map((row) => row.map(cell).join(",")).join("\n")}\n`;
}
