/** A streamed answer for the sender: its tokens stamped at the read that brought them, judged when it ends. */
import type { Exchange, ExchangeNotes, ExchangeReader } from "../exchange.ts";
import type { Head } from "../http/answer.ts";
import { createEventReader } from "../http/sse.ts";
import { createAnswerStream } from "../http/stream.ts";
import type { OutcomeClass } from "../records.ts";
import { createFrameReader } from "./events.ts";
import type { Dialect } from "./reading.ts";

/** Bytes of an answer that is no stream, kept to read its error. */
const mostKept = 65_536;

export function createStreamReader(dialect: Dialect, notes: ExchangeNotes): ExchangeReader {
  const frames = createFrameReader(dialect, (ms) => notes.gap(ms));
  const { state } = frames;
  let at = 0;
  let head: Head | null = null;
  let streams = false;
  let over = false;
  let begun = false;
  let unended = false;
  let kept: Buffer[] = [];
  const events = createEventReader((bytes, from, to, name) => frames.event(bytes, from, to, name, at));
  const made: Exchange = {
    outcome: "good",
    status: 0,
    bytes: 0,
    keepAlive: true,
    queueUs: Number.NaN,
    computeUs: Number.NaN,
    batch: 0,
    tokens: state.tokens,
    answer: null,
  };

  const stream = createAnswerStream({
    head(found) {
      head = found;
      streams = found.type.startsWith("text/event-stream");
      made.bytes = 0;
    },
    body(bytes, from, to) {
      made.bytes += to - from;
      if (streams) events.push(bytes, from, to);
      else if (made.bytes <= mostKept) kept.push(Buffer.from(bytes.subarray(from, to)));
    },
    end() {
      if (streams) unended = events.end();
      over = true;
    },
  });

  const judge = (cut: boolean): OutcomeClass => {
    const { status, encoding } = head!;
    if (status === 429 || status === 503) return "throttled";
    if (status !== 200) return "http_error";
    if (encoding !== "") {
      notes.peculiarity(`the answer is compressed (${encoding}), which was not asked for`);
      return "protocol_error";
    }
    if (!streams) {
      notes.peculiarity("200 with an answer that is no event stream");
      return "protocol_error";
    }
    if (state.error !== null) {
      notes.peculiarity(`an error under HTTP 200: ${state.error.slice(0, 200)}`);
      return "stream_error";
    }
    if (cut) return "stream_error";
    if (state.tokens.frames === 0) {
      notes.peculiarity("200 without a token");
      return "protocol_error";
    }
    const { owes } = dialect;
    if (owes.finish && !state.finished) {
      notes.peculiarity("the stream ends without a finish reason");
      return "stream_error";
    }
    if (owes.done && !state.done) notes.peculiarity(`no ${dialect.doneText ?? "closing event"} at the end of the stream`);
    if (owes.usage && state.tokens.outputTokens === 0) notes.peculiarity("no usage: tokens are counted by events");
    if (state.strange > 0) notes.peculiarity("events that cannot be read");
    if (unended) notes.peculiarity("the last event has no blank line behind it");
    return "good";
  };

  const finish = (cut: boolean): Exchange => {
    made.outcome = judge(cut);
    if (made.outcome === "http_error") {
      const said = state.error ?? Buffer.concat(kept).toString("utf8");
      notes.peculiarity(`HTTP ${head!.status}: ${said.slice(0, 200)}`);
    }
    made.status = head!.status;
    made.keepAlive = head!.keepAlive && !cut;
    return made;
  };
  const restart = (): void => {
    frames.reset();
    head = null;
    over = begun = false;
    if (kept.length > 0) kept = [];
  };

  return {
    push(piece, now) {
      if (over) restart();
      at = now;
      begun = true;
      stream.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      return over ? finish(false) : null;
    },
    end(now) {
      at = now;
      if (over || !head) return null;
      stream.close();
      if (over) {
        const found = finish(false);
        found.keepAlive = false;
        return found;
      }
      if (streams) events.end();
      over = true;
      return finish(true);
    },
    begun: () => begun && !over,
  };
}
