/** Open Inference Protocol for the sender: each answer is read whole and judged by its outputs. */
import { createWholeReader } from "../answers/whole.ts";
import type { ExchangeReader } from "../exchange.ts";
import type { createJudge } from "./infer.ts";

/** @param judge shared by all connections: it knows heads again */
export const createOipReader = (judge: ReturnType<typeof createJudge>): ExchangeReader =>
  createWholeReader(({ status, headerBytes, body }) => judge(status, headerBytes, body));
