import { e2e } from "./e2e.ts";
import { inputLength, outputLength } from "./lengths.ts";
import type { RequestMetric } from "./metric.ts";
import { queue } from "./queue.ts";
import { serverCompute, serverQueue } from "./server.ts";
import { stall } from "./stall.ts";
import { tpot } from "./tpot.ts";
import { ttfb } from "./ttfb.ts";
import { ttft } from "./ttft.ts";
import { ttftService } from "./ttft-service.ts";
import { ttfv } from "./ttfv.ts";

export { rowAt, type RequestMetric, type Row } from "./metric.ts";

/** Every figure of a request, in the order of tables. */
export const requestMetrics: readonly RequestMetric[] = [
  ttft,
  ttftService,
  ttfv,
  tpot,
  e2e,
  ttfb,
  queue,
  serverQueue,
  serverCompute,
  stall,
  inputLength,
  outputLength,
];

/** Names by which targets call them. */
export const metricTags = [
  "ttft",
  "ttft-service",
  "ttfv",
  "tpot",
  "e2e",
  "ttfb",
  "queue",
  "server-queue",
  "server-compute",
  "stall",
  "input",
  "output",
] as const;
