/** Time to the first token that a user sees. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const ttfv: RequestMetric = {
  tag: "ttfv",
  title: "time to first visible token",
  unit: "ms",
  formula: "first token-bearing event that is not reasoning − scheduled",
  exception: "an answer of reasoning only",
  of: (row) => ifGood(row, row.visible - row.scheduled),
};
