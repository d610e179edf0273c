/**
 * Splits what a socket reads into HTTP/1.1 answers: head and body by Content-Length, chunks or the end
 * of the connection, over any number of reads. No more of the protocol than a load generator meets.
 */

export interface HttpAnswer {
  status: number;
  /** Inference-Header-Content-Length; null = absent. */
  headerBytes: number | null;
  /** Server-Timing, as sent; "" = absent. */
  timing: string;
  /** Whether the connection may carry another request. */
  keepAlive: boolean;
  /** Valid until the next read. */
  body: Uint8Array;
}

export class HttpFault extends Error {}

interface Head {
  status: number;
  length: number | null;
  chunked: boolean;
  headerBytes: number | null;
  timing: string;
  keepAlive: boolean;
}

const mostHeadBytes = 65_536;
const empty = new Uint8Array();

function field(head: string, lower: string, name: string): string | null {
  const at = lower.indexOf(`\r\n${name}:`);
  if (at < 0) return null;
  const from = at + name.length + 3;
  const end = lower.indexOf("\r\n", from);
  return head.slice(from, end < 0 ? undefined : end).trim();
}

function readHead(text: string): Head {
  const match = /^HTTP\/1\.([01]) (\d{3})/.exec(text);
  if (!match) throw new HttpFault("no HTTP answer");
  const lower = text.toLowerCase();
  const length = field(text, lower, "content-length");
  if (length !== null && !/^\d+$/.test(length)) throw new HttpFault("Content-Length is no number");
  const headerBytes = field(text, lower, "inference-header-content-length");
  const connection = field(text, lower, "connection")?.toLowerCase() ?? "";
  return {
    status: Number(match[2]),
    length: length === null ? null : Number(length),
    chunked: /chunked/i.test(field(text, lower, "transfer-encoding") ?? ""),
    headerBytes: headerBytes === null ? null : Number(headerBytes),
    timing: field(text, lower, "server-timing") ?? "",
    keepAlive: match[1] === "1" ? !connection.includes("close") : connection.includes("keep-alive"),
  };
}

/** Servers repeat their heads: one that was read before is known by its text. */
const known = new Map<string, Head>();
const mostKnown = 64;

function parseHead(text: string): Head {
  let head = known.get(text);
  if (!head) {
    head = readHead(text);
    if (known.size < mostKnown) known.set(text, head);
  }
  return head;
}

export interface AnswerReader {
  /** Takes what was read; returns the answer when it is whole. Throws HttpFault when it is none. */
  push(piece: Uint8Array): HttpAnswer | null;
  /** The connection ended; returns the answer if its end was the end of the body. */
  end(): HttpAnswer | null;
  /** Whether part of an answer has come. */
  begun(): boolean;
}

export function createAnswerReader(): AnswerReader {
  let held: Buffer = Buffer.alloc(0);
  let head: Head | null = null;
  let bodyAt = 0;

  const finish = (body: Uint8Array): HttpAnswer => {
    const { status, headerBytes, timing, keepAlive } = head!;
    held = Buffer.alloc(0);
    head = null;
    return { status, headerBytes, timing, keepAlive, body };
  };

  /** The joined chunks, when the last has come. */
  const dechunk = (bytes: Buffer): Uint8Array | null => {
    const pieces: Buffer[] = [];
    for (let at = 0; ;) {
      const line = bytes.indexOf("\r\n", at);
      if (line < 0) return null;
      const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
      if (!Number.isInteger(size) || size < 0) throw new HttpFault("a chunk has no size");
      if (bytes.byteLength < line + 2 + size + 2) return null;
      if (size === 0) return Buffer.concat(pieces);
      pieces.push(bytes.subarray(line + 2, line + 2 + size));
      at = line + 2 + size + 2;
    }
  };

  const tryFinish = (): HttpAnswer | null => {
    if (!head) {
      const end = held.indexOf("\r\n\r\n");
      if (end < 0) {
        if (held.byteLength > mostHeadBytes) throw new HttpFault("the head is too long");
        return null;
      }
      head = parseHead(held.toString("latin1", 0, end));
      bodyAt = end + 4;
      if (head.status < 200) {
        held = held.subarray(bodyAt);
        head = null;
        return tryFinish();
      }
    }
    if (head.status === 204 || head.status === 304) return finish(empty);
    if (head.chunked) {
      const body = dechunk(held.subarray(bodyAt));
      return body && finish(body);
    }
    if (head.length === null || held.byteLength < bodyAt + head.length) return null;
    return finish(held.subarray(bodyAt, bodyAt + head.length));
  };

  return {
    push(piece) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      // What stays for the next read is copied: the reader's buffer is used again.
      held = held.byteLength === 0 ? bytes : Buffer.concat([held, bytes]);
      const answer = tryFinish();
      if (!answer && held === bytes) held = Buffer.from(bytes);
      return answer;
    },
    end: () => (head && !head.chunked && head.length === null ? finish(held.subarray(bodyAt)) : null),
    begun: () => held.byteLength > 0,
  };
}

/** Queue and compute time in microseconds and the batch of a Server-Timing value; NaN and 0 where it tells none. */
export function parseTiming(timing: string): { queueUs: number; computeUs: number; batch: number } {
  const duration = (name: string): number => {
    const at = timing.indexOf(`${name};dur=`);
    return at < 0 ? Number.NaN : Number.parseFloat(timing.slice(at + name.length + 5)) * 1000;
  };
  const batchAt = timing.indexOf("batch;desc=");
  const batch = batchAt < 0 ? 0 : Number.parseInt(timing.slice(batchAt + 11), 10) || 0;
  return { queueUs: duration("queue"), computeUs: duration("compute"), batch };
}
