/**
 * Reads HTTP/1.1 answers piece by piece: the head when it is whole, then the body as it comes, out of its
 * chunks. For answers that are streams; whole answers are read by `http.ts`. Works on places in the bytes
 * that were read: slices would feed the garbage collector.
 */
import { HttpFault, parseHead, type Head } from "./answer.ts";

export interface AnswerSink {
  head(head: Head): void;
  /** Part of the body, `bytes` from `from` to `to`; valid during the call. */
  body(bytes: Buffer, from: number, to: number): void;
  /** The answer is whole. */
  end(): void;
}

export interface AnswerStream {
  /** Takes what was read; no more than one answer may be in it. Throws HttpFault. */
  push(piece: Buffer): void;
  /** The connection ended. Whole only where its end is the end of the body: then the sink hears `end`, else nothing. */
  close(): void;
}

const [LF, CR] = [10, 13];
const headEnd = Buffer.from("\r\n\r\n");
const mostHeadBytes = 65_536;
const mostSizeLine = 1024;
const nothing = Buffer.alloc(0);

type State = "head" | "length" | "until-close" | "size" | "chunk" | "chunk-end" | "trailer";

export function createAnswerStream(sink: AnswerSink): AnswerStream {
  let state: State = "head";
  /** Bytes of a head or a line that is not whole. */
  let rest: Buffer = nothing;
  let left = 0;

  const whole = (): void => {
    state = "head";
    sink.end();
  };
  const wait = (bytes: Buffer, at: number, most: number, fault: string): number => {
    if (bytes.length - at > most) throw new HttpFault(fault);
    rest = Buffer.from(bytes.subarray(at));
    return bytes.length;
  };

  /** Each returns where it got to. */
  const takeHead = (bytes: Buffer, at: number): number => {
    const end = bytes.indexOf(headEnd, at);
    if (end < 0) return wait(bytes, at, mostHeadBytes, "the head is too long");
    const head = parseHead(bytes.toString("latin1", at, end));
    if (head.status < 200) return end + 4;
    sink.head(head);
    if (head.status === 204 || head.status === 304 || (!head.chunked && head.length === 0)) whole();
    else if (head.chunked) state = "size";
    else if (head.length === null) state = "until-close";
    else {
      state = "length";
      left = head.length;
    }
    return end + 4;
  };
  const takeBody = (bytes: Buffer, at: number): number => {
    const to = Math.min(bytes.length, at + left);
    left -= to - at;
    sink.body(bytes, at, to);
    if (left === 0) {
      if (state === "length") whole();
      else state = "chunk-end";
    }
    return to;
  };
  const sizeOf = (bytes: Buffer, from: number, to: number): number => {
    let size = 0;
    let at = from;
    for (; at < to; at++) {
      const byte = bytes[at]!;
      const digit = byte >= 48 && byte <= 57 ? byte - 48 : (byte | 32) >= 97 && (byte | 32) <= 102 ? (byte | 32) - 87 : -1;
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    if (at === from || at - from > 12) throw new HttpFault("a chunk has no size");
    return size;
  };
  const takeLine = (bytes: Buffer, at: number): number => {
    const end = bytes.indexOf(LF, at);
    if (end < 0) return wait(bytes, at, mostSizeLine, "a chunk has no size");
    const to = end > at && bytes[end - 1] === CR ? end - 1 : end;
    if (state === "size") {
      left = sizeOf(bytes, at, to);
      state = left === 0 ? "trailer" : "chunk";
    } else if (state === "chunk-end") {
      if (to > at) throw new HttpFault("a chunk is longer than its size");
      state = "size";
    } else if (to === at) whole();
    return end + 1;
  };

  return {
    push(piece) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      rest = nothing;
      for (let at = 0; at < bytes.length;) {
        switch (state) {
          case "head":
            at = takeHead(bytes, at);
            break;
          case "length":
          case "chunk":
            at = takeBody(bytes, at);
            break;
          case "until-close":
            sink.body(bytes, at, bytes.length);
            return;
          case "size":
          case "chunk-end":
          case "trailer":
            at = takeLine(bytes, at);
        }
      }
    },
    close: () => {
      if (state === "until-close") whole();
    },
  };
}
