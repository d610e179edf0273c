/** Waiting for a connection, and the generator's own lag. */
import type { RequestMetric } from "./metric.ts";

export const queue: RequestMetric = {
  tag: "queue",
  title: "wait before sending",
  unit: "ms",
  formula: "sent − scheduled",
  exception: "",
  of: (row) => (Number.isNaN(row.sent) ? Number.POSITIVE_INFINITY : row.sent - row.scheduled),
};
