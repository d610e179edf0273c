/** Time to first token as the server gave it. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const ttftService: RequestMetric = {
  tag: "ttft-service",
  title: "time to first token, from sending",
  unit: "ms",
  formula: "first token-bearing event − sent",
  exception: "",
  of: (row) => ifGood(row, row.first - row.sent),
};
