/** A run as an HdrHistogram log, version 1.3: one interval for each visit and metric, tagged with both; values in microseconds. */
import { build, HistogramLogWriter } from "hdr-histogram-js";
import { describeEndpoint, type EndpointRun } from "../../../bench/index.ts";
import { metricValues, requestMetrics } from "../../../load/index.ts";

export function toHdr({ question, visits }: EndpointRun): string {
  let log = "";
  const writer = new HistogramLogWriter((piece) => (log += piece));
  const startMs = Date.parse(visits[0]!.startedAt);
  writer.outputComment(`[Assay: values in microseconds, maxima in milliseconds, tags are visit and metric]`);
  for (const endpoint of question.endpoints) writer.outputComment(`[${describeEndpoint(endpoint)}]`);
  writer.outputLogFormatVersion();
  // In words of one form everywhere: the library writes the local time zone.
  writer.outputComment(`[StartTime: ${(startMs / 1000).toFixed(3)} (seconds since epoch), ${visits[0]!.startedAt}]`);
  writer.outputLegend();
  for (const [at, { table, context, startedAt }] of visits.entries()) {
    const from = (Date.parse(startedAt) - startMs) / 1000;
    for (const { tag, unit } of requestMetrics) {
      if (unit !== "ms") continue;
      const histogram = build({ numberOfSignificantValueDigits: 3, bitBucketSize: 64 });
      for (const ms of metricValues(table, tag)) if (Number.isFinite(ms)) histogram.recordValue(Math.max(0, Math.round(1000 * ms)));
      if (histogram.totalCount === 0) continue;
      histogram.tag = `visit${at + 1}.${tag}`;
      writer.outputIntervalHistogram(histogram, from, from + context.windowMs / 1000, 1000);
    }
  }
  return log;
}
