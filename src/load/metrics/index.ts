import { e2e } from "./e2e.ts";
import { inputLength, outputLength } from "./lengths.ts";
import type { RequestMetric } from "./metric.ts";
import { queue } from "./queue.ts";
import { stall } from "./stall.ts";
import { tpot } from "./tpot.ts";
import { ttft } from "./ttft.ts";
import { ttftService } from "./ttft-service.ts";
import { ttfv } from "./ttfv.ts";

export { rowAt, type RequestMetric, type Row } from "./metric.ts";

/** Every figure of a streamed request, in the order of tables. */
export const tokenMetrics: readonly RequestMetric[] = [ttft, ttftService, ttfv, tpot, e2e, queue, stall, inputLength, outputLength];

/** Names by which targets call them. */
export const tokenTags = ["ttft", "ttft-service", "ttfv", "tpot", "e2e", "queue", "stall", "input", "output"] as const;
