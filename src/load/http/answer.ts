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

export interface Head {
  status: number;
  /** Content-Type in lower case; "" = absent. */
  type: string;
  /** Content-Encoding in lower case; "" = absent or identity. */
  encoding: string;
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
    type: field(text, lower, "content-type")?.toLowerCase() ?? "",
    encoding: (field(text, lower, "content-encoding") ?? "").toLowerCase().replace("identity", ""),
    length: length === null ? null : Number(length),
    chunked: /chunked/i.test(field(text, lower, "transfer-encoding") ?? ""),
    headerBytes: headerBytes === null ? null : Number(headerBytes),
    timing: field(text, lower, "server-timing") ?? "",
    keepAlive: match[1] === "1" ? !connection.includes("close") : connection.includes("keep-alive"),
  };
}

/** The head of an answer, by its text without the blank line. Servers repeat their heads: one that was read before is known. Throws HttpFault. */
const known = new Map<string, Head>();
const mostKnown = 64;

export function parseHead(text: string): Head {
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

/** The joined chunks, when the last has come. */
function dechunk(bytes: Buffer): Uint8Array | null {
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
}

export function createAnswerReader(): AnswerReader {
  // Grows to the largest answer and is used for every one: large answers shall not feed the garbage collector.
  let store = Buffer.alloc(0);
  let used = 0;
  let head: Head | null = null;
  let bodyAt = 0;

  const keep = (piece: Uint8Array): void => {
    const need = used + piece.byteLength;
    if (store.byteLength < need) {
      const grown = Buffer.allocUnsafe(Math.max(need, 2 * store.byteLength, head ? bodyAt + (head.length ?? 0) : 0));
      grown.set(store.subarray(0, used));
      store = grown;
    }
    store.set(piece, used);
    used = need;
  };

  const finish = (body: Uint8Array): HttpAnswer => {
    const { status, headerBytes, timing, keepAlive } = head!;
    used = 0;
    head = null;
    return { status, headerBytes, timing, keepAlive, body };
  };

  /** Reads the head when it is whole; returns what follows answers that only announce another. */
  const readHeads = (bytes: Buffer): Buffer => {
    let rest = bytes;
    while (!head) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) {
        if (rest.byteLength > mostHeadBytes) throw new HttpFault("the head is too long");
        return rest;
      }
      head = parseHead(rest.toString("latin1", 0, end));
      bodyAt = end + 4;
      if (head.status < 200) {
        rest = rest.subarray(bodyAt);
        head = null;
      }
    }
    return rest;
  };

  const bodyOf = (bytes: Buffer, { status, chunked, length }: Head): Uint8Array | null => {
    if (status === 204 || status === 304) return empty;
    if (chunked) return dechunk(bytes.subarray(bodyAt));
    return length === null || bytes.byteLength < bodyAt + length ? null : bytes.subarray(bodyAt, bodyAt + length);
  };

  return {
    push(piece) {
      const fresh = used === 0;
      if (!fresh) keep(piece);
      const bytes = fresh ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : store.subarray(0, used);
      const rest = readHeads(bytes);
      const body = head && bodyOf(rest, head);
      if (body) return finish(body);
      if (fresh) keep(rest);
      else if (rest.byteLength < used) {
        store.copyWithin(0, used - rest.byteLength, used);
        used = rest.byteLength;
      }
      return null;
    },
    end: () => (head && !head.chunked && head.length === null ? finish(store.subarray(bodyAt, used)) : null),
    begun: () => used > 0,
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
