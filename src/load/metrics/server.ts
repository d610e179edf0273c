/** What the server says of its own work. */
import type { RequestMetric } from "./metric.ts";

export const serverQueue: RequestMetric = {
  tag: "server-queue",
  title: "queue in the server",
  unit: "ms",
  formula: "the server's own figure (Server-Timing)",
  exception: "an answer that does not tell",
  of: (row) => (row.good ? row.queue : Number.NaN),
};

export const serverCompute: RequestMetric = {
  tag: "server-compute",
  title: "compute in the server",
  unit: "ms",
  formula: "the server's own figure (Server-Timing)",
  exception: "an answer that does not tell",
  of: (row) => (row.good ? row.compute : Number.NaN),
};
