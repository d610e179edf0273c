/** Time to first token as the user feels it: waiting for a connection counts. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const ttft: RequestMetric = {
  tag: "ttft",
  title: "time to first token",
  unit: "ms",
  formula: "first token-bearing event − scheduled",
  exception: "",
  of: (row) => ifGood(row, row.first - row.scheduled),
};
