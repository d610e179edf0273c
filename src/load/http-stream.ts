/**
 * Reads HTTP/1.1 answers piece by piece: the head when it is whole, then the body as it comes, out of its
 * chunks. For answers that are streams; whole answers are read by `http.ts`.
 */
import { HttpFault, parseHead, type Head } from "./http.ts";

export interface AnswerSink {
  head(head: Head): void;
  /** Part of the body; valid during the call. */
  body(piece: Buffer): void;
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
const mostHeadBytes = 65_536;
const mostSizeLine = 1024;

type State = "head" | "length" | "until-close" | "size" | "chunk" | "chunk-end" | "trailer";

export function createAnswerStream(sink: AnswerSink): AnswerStream {
  let state: State = "head";
  /** Bytes of a head or a line that is not whole. */
  let rest: Buffer = Buffer.alloc(0);
  let left = 0;

  const whole = (): void => {
    state = "head";
    sink.end();
  };

  const takeHead = (bytes: Buffer): Buffer => {
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) {
      if (bytes.length > mostHeadBytes) throw new HttpFault("the head is too long");
      rest = Buffer.from(bytes);
      return bytes.subarray(bytes.length);
    }
    const head = parseHead(bytes.toString("latin1", 0, end));
    const after = bytes.subarray(end + 4);
    if (head.status < 200) return after;
    const empty = head.status === 204 || head.status === 304 || (!head.chunked && head.length === 0);
    sink.head(head);
    if (empty) whole();
    else if (head.chunked) state = "size";
    else if (head.length === null) state = "until-close";
    else [state, left] = ["length", head.length];
    return after;
  };

  const takeBody = (bytes: Buffer): Buffer => {
    const piece = left < bytes.length ? bytes.subarray(0, left) : bytes;
    left -= piece.length;
    sink.body(piece);
    if (left === 0) {
      if (state === "length") whole();
      else state = "chunk-end";
    }
    return bytes.subarray(piece.length);
  };

  /** A line of the chunked form, without its end; null when it is not whole. */
  const takeLine = (bytes: Buffer): { line: Buffer; after: Buffer } | null => {
    const end = bytes.indexOf(LF);
    if (end < 0) {
      if (bytes.length > mostSizeLine) throw new HttpFault("a chunk has no size");
      rest = Buffer.from(bytes);
      return null;
    }
    return { line: bytes.subarray(0, end > 0 && bytes[end - 1] === CR ? end - 1 : end), after: bytes.subarray(end + 1) };
  };

  const sizeOf = (line: Buffer): number => {
    let size = 0;
    let digits = 0;
    for (; digits < line.length; digits++) {
      const byte = line[digits]!;
      const digit = byte >= 48 && byte <= 57 ? byte - 48 : (byte | 32) >= 97 && (byte | 32) <= 102 ? (byte | 32) - 87 : -1;
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    if (digits === 0 || digits > 12) throw new HttpFault("a chunk has no size");
    return size;
  };

  return {
    push(piece) {
      let bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      rest = Buffer.alloc(0);
      while (bytes.length > 0) {
        switch (state) {
          case "head":
            bytes = takeHead(bytes);
            break;
          case "length":
          case "chunk":
            bytes = takeBody(bytes);
            break;
          case "until-close":
            sink.body(bytes);
            return;
          case "size":
          case "chunk-end":
          case "trailer": {
            const found = takeLine(bytes);
            if (!found) return;
            bytes = found.after;
            if (state === "size") {
              left = sizeOf(found.line);
              state = left === 0 ? "trailer" : "chunk";
            } else if (state === "chunk-end") {
              if (found.line.length > 0) throw new HttpFault("a chunk is longer than its size");
              state = "size";
            } else if (found.line.length === 0) whole();
            break;
          }
        }
      }
    },
    close: () => {
      if (state === "until-close") whole();
    },
  };
}
