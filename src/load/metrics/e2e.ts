/** End to end: a stream's close is not part of it. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const e2e: RequestMetric = {
  tag: "e2e",
  title: "end to end",
  unit: "ms",
  formula: "last token-bearing event, or the last byte of an answer that comes whole, − scheduled",
  exception: "",
  of: (row) => ifGood(row, row.last - row.scheduled),
};
