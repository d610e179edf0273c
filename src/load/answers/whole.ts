/** An answer that comes whole, for the sender: JSON, read by its protocol when the last byte is there. */
import type { Exchange, ExchangeNotes, ExchangeReader } from "../exchange.ts";
import { createAnswerReader, parseTiming, type HttpAnswer } from "../http/answer.ts";
import type { OutcomeClass } from "../records.ts";
import { noTokens } from "../token-times.ts";
import { parseObject, takeUsage } from "./events.ts";
import type { Dialect } from "./reading.ts";

/** What an HTTP status is worth by itself; null = the answer must be read. */
export function byStatus(status: number): OutcomeClass | null {
  if (status === 429 || status === 503) return "throttled";
  return status >= 200 && status < 300 ? null : "http_error";
}

/** An exchange to be filled anew for every answer. */
export const emptyExchange = (): Exchange => ({
  outcome: "good",
  status: 0,
  bytes: 0,
  keepAlive: true,
  queueUs: Number.NaN,
  computeUs: Number.NaN,
  batch: 0,
  tokens: null,
  answer: null,
});

/** A reader that judges every answer when it is whole. */
export function createWholeReader(judge: (answer: HttpAnswer, at: number, made: Exchange) => OutcomeClass): ExchangeReader {
  const reader = createAnswerReader();
  const made = emptyExchange();
  const exchange = (answer: HttpAnswer | null, at: number): Exchange | null => {
    if (!answer) return null;
    made.outcome = judge(answer, at, made);
    made.status = answer.status;
    made.bytes = answer.body.byteLength;
    made.keepAlive = answer.keepAlive;
    Object.assign(made, parseTiming(answer.timing));
    made.answer = answer;
    return made;
  };
  return {
    push: (piece, at) => exchange(reader.push(piece), at),
    end(at) {
      const found = exchange(reader.end(), at);
      if (found) found.keepAlive = false;
      return found;
    },
    begun: () => reader.begun(),
  };
}

/** A reader of whole JSON answers. Their tokens all come with the last byte: of a first token nothing is known. */
export function createJsonReader(dialect: Dialect, notes: ExchangeNotes): ExchangeReader {
  return createWholeReader(({ status, body }, at, made) => {
    const tokens = noTokens();
    made.tokens = tokens;
    const text = (): string => Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8").slice(0, 200);
    const bad = byStatus(status);
    if (bad !== null) {
      if (bad === "http_error") notes.peculiarity(`HTTP ${status}: ${text()}`);
      return bad;
    }
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const frame = parseObject(bytes, 0, bytes.length);
    if (!frame) {
      notes.peculiarity(`${status} with an answer that is no JSON`);
      return "protocol_error";
    }
    const { text: said, thought, call, results, finishes, error, usage } = dialect.read(frame, "");
    if (error !== null) {
      notes.peculiarity(`an error under HTTP ${status}: ${error.slice(0, 200)}`);
      return "stream_error";
    }
    if (said === "" && thought === "" && call === "" && results === 0) {
      notes.peculiarity(`${status} without a result`);
      return "protocol_error";
    }
    if (dialect.owes.finish && !finishes) {
      notes.peculiarity("an answer without a finish reason");
      return "protocol_error";
    }
    if (usage) takeUsage(tokens, usage);
    tokens.lastAt = at;
    return "good";
  });
}
