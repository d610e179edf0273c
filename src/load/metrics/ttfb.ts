/** Time to the first byte of an answer that comes whole: for a stream it tells nothing, as heads come before any work. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const ttfb: RequestMetric = {
  tag: "ttfb",
  title: "time to first byte",
  unit: "ms",
  formula: "first byte of the answer − scheduled",
  exception: "a streamed answer",
  of: (row) => ifGood(row, row.frames > 0 ? Number.NaN : row.firstByte - row.scheduled),
};
