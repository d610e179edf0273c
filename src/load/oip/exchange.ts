/** Open Inference Protocol for the sender: each answer is read whole and judged by its outputs. */
import type { Exchange, ExchangeReader } from "../exchange.ts";
import { createAnswerReader, parseTiming, type HttpAnswer } from "../http.ts";
import type { createJudge } from "./infer.ts";

/** @param judge shared by all connections: it knows heads again */
export function createOipReader(judge: ReturnType<typeof createJudge>): ExchangeReader {
  const reader = createAnswerReader();
  const made: Exchange = {
    outcome: "good",
    status: 0,
    bytes: 0,
    keepAlive: true,
    queueUs: Number.NaN,
    computeUs: Number.NaN,
    batch: 0,
    tokens: null,
    answer: null,
  };
  const exchange = (answer: HttpAnswer | null): Exchange | null => {
    if (!answer) return null;
    made.outcome = judge(answer.status, answer.headerBytes, answer.body);
    made.status = answer.status;
    made.bytes = answer.body.byteLength;
    made.keepAlive = answer.keepAlive;
    Object.assign(made, parseTiming(answer.timing));
    made.answer = answer;
    return made;
  };
  return {
    push: (piece) => exchange(reader.push(piece)),
    end() {
      const found = exchange(reader.end());
      if (found) found.keepAlive = false;
      return found;
    },
    begun: () => reader.begun(),
  };
}
