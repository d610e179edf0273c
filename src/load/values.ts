/** The values of one metric over a run. Pure. */
import { AssayError } from "../base/index.ts";
import { requestMetrics, rowAt } from "./metrics/index.ts";
import { outcomeNumber, type RecordTable } from "./records.ts";

/** Of every scheduled request but cancelled ones that it applies to, in order; Infinity = it brought nothing. @param tag such as `ttft` */
export function metricValues(table: RecordTable, tag: string): Float64Array {
  const metric = requestMetrics.find((one) => one.tag === tag);
  if (!metric) throw new AssayError("USAGE", `${tag} is no metric`);
  const cancelled = outcomeNumber("cancelled");
  const values = new Float64Array(table.length);
  let count = 0;
  for (let at = 0; at < table.length; at++) {
    if (table.outcome[at] === cancelled) continue;
    const value = metric.of(rowAt(table, at));
    if (!Number.isNaN(value)) values[count++] = value;
  }
  return values.subarray(0, count);
}
