/** The worst pause inside one answer, which a mean per token hides. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const stall: RequestMetric = {
  tag: "stall",
  title: "longest gap in an answer",
  unit: "ms",
  formula: "longest time between two token-bearing events",
  exception: "an answer of one token-bearing event",
  of: (row) => ifGood(row, row.frames < 2 ? Number.NaN : row.longestGap),
};
