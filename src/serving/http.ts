/**
 * HTTP/1.1 for the model server, on sockets: whole requests in, one answer each, keep-alive, in order.
 * node:http takes as long for a request as a small model does (`bench/results/model-server.md`, ADR 6).
 * No more of the protocol than inference clients use: bodies by length or chunks, `Expect`, HEAD, pipelining.
 */
import { STATUS_CODES } from "node:http";
import { createServer, type Server, type Socket } from "node:net";

export interface HttpRequest {
  method: string;
  /** Without the query. */
  path: string;
  /** By lower-case name; values of a repeated field are joined by commas. */
  headers: ReadonlyMap<string, string>;
  body: Buffer;
}

/** Answers the request; later calls, and calls after the client has left, do nothing. Content-Length, Date and Connection are added. */
export type Respond = (status: number, headers: Readonly<Record<string, string | number>>, body: string | Uint8Array) => void;
export type Handler = (request: HttpRequest, respond: Respond) => void;

export interface HttpOptions {
  handler: Handler;
  /** The answer to what is no request that can be served; the connection closes after it. */
  refuse: (status: number, why: string, respond: Respond) => void;
  /** Beyond it 413, bytes. */
  mostBodyBytes: number;
  /** How long a connection may stay without a request, milliseconds. */
  idleMs: number;
  /** How long a request may take to come in, milliseconds. */
  arrivalMs: number;
}

export interface HttpServer {
  listener: Server;
  /** Takes no new connection, closes idle ones, and the others after their answer. Resolves when all are closed. */
  drain(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, why: string) {
    super(why);
    this.status = status;
  }
}

interface Head {
  method: string;
  path: string;
  headers: ReadonlyMap<string, string>;
  /** Bytes; null = chunks. */
  length: number | null;
  keepAlive: boolean;
  expects: boolean;
}

const mostHeadBytes = 16_384;
/** Bytes of later requests that are held while one is answered. */
const mostHeldBytes = 65_536;
const sweepMs = 1000;
/** How long a client may take to read the last answer, milliseconds. */
const partingMs = 5000;
const headEnd = Buffer.from("\r\n\r\n");
const lineEnd = Buffer.from("\r\n");
const nothing = Buffer.alloc(0);
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Throws Refusal for a head that is none, is ambiguous in its length, or asks for what is not spoken here. */
function readHead(text: string): Head {
  const [first, ...lines] = text.split("\r\n");
  const [, method, target, minor] = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/.exec(first!) ?? [];
  if (method === undefined || target === undefined) throw new Refusal(400, `"${first!.slice(0, 80)}" is no request line of HTTP/1.1`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    // A space before the colon, or a folded line, is read differently by different servers.
    if (colon < 1 || !token.test(name)) throw new Refusal(400, `"${line.slice(0, 80)}" is no header field`);
    const value = line.slice(colon + 1).trim();
    if (/[\0\r\n]/.test(value)) throw new Refusal(400, `the header field ${name} holds a control character`);
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  if (minor === "1" && !headers.has("host")) throw new Refusal(400, "the request has no Host");
  const coding = headers.get("transfer-encoding")?.toLowerCase();
  const length = headers.get("content-length");
  if (coding !== undefined && coding !== "chunked") throw new Refusal(501, `transfer encoding "${coding}" is not spoken here; use chunked`);
  if (coding !== undefined && length !== undefined) throw new Refusal(400, "the request has both Content-Length and Transfer-Encoding");
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw new Refusal(400, `Content-Length is "${length}"; expected a number of bytes`);
  return {
    method,
    path: target.split("?", 1)[0]!,
    headers,
    length: coding === undefined ? Number(length ?? 0) : null,
    keepAlive: minor === "1" && !/\bclose\b/i.test(headers.get("connection") ?? ""),
    expects: headers.get("expect")?.toLowerCase() === "100-continue",
  };
}

/** Clients repeat their heads: one that was read before is known by its text. */
const known = new Map<string, Head>();
const mostKnown = 256;

function headOf(text: string): Head {
  let head = known.get(text);
  if (!head) {
    head = readHead(text);
    if (known.size < mostKnown) known.set(text, head);
  }
  return head;
}

let dateSecond = 0;
let dateText = "";
function dateNow(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}

/** Reads one request after another out of the pieces that a socket reads. */
interface Reader {
  /** Takes what was read. */
  push(piece: Buffer): void;
  /** The next whole request, null while it is not there. Throws Refusal. */
  next(): { head: Head; body: Buffer } | null;
  /** Bytes that wait for `next`. */
  held(): number;
  /** Whether part of a request has come. */
  begun(): boolean;
}

function createReader(mostBodyBytes: number, onExpect: () => void): Reader {
  let held: Buffer = nothing;
  let head: Head | null = null;
  let body: Buffer[] = [];
  let size = 0;
  /** Bytes that the body, or the present chunk with its line end, still lacks. */
  let lacking = 0;
  let inChunk = false;

  const take = (bytes: number): Buffer => {
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return taken;
  };
  const takeLine = (end: Buffer, most: number, status: number, what: string): string | null => {
    const at = held.indexOf(end);
    if (at > most || (at < 0 && held.byteLength >= most + end.byteLength))
      throw new Refusal(status, `${what} is longer than ${most} bytes`);
    return at < 0 ? null : take(at + end.byteLength).toString("latin1", 0, at);
  };
  const makeRoom = (bytes: number): void => {
    if (size + bytes > mostBodyBytes) throw new Refusal(413, `the body is larger than ${mostBodyBytes} bytes`);
  };
  /** Moves what has come of the lacking bytes to the body; true when none lacks. */
  const fill = (): boolean => {
    const piece = take(Math.min(lacking, held.byteLength));
    lacking -= piece.byteLength;
    size += piece.byteLength;
    if (piece.byteLength > 0) body.push(piece);
    return lacking === 0;
  };
  /** Reads chunks; true when the last has come. */
  const fillChunks = (): boolean => {
    for (;;) {
      if (inChunk) {
        if (!fill()) return false;
        const end = takeLine(lineEnd, 0, 400, "what follows a chunk");
        if (end === null) return false;
        inChunk = false;
      }
      const line = takeLine(lineEnd, 1024, 400, "the size of a chunk");
      if (line === null) return false;
      const digits = /^([0-9a-fA-F]{1,8})\s*(;.*)?$/.exec(line)?.[1];
      if (digits === undefined) throw new Refusal(400, `"${line.slice(0, 80)}" is no size of a chunk`);
      lacking = Number.parseInt(digits, 16);
      if (lacking === 0) return true;
      makeRoom(lacking);
      inChunk = true;
    }
  };
  /** After the last chunk: fields that nobody needs, up to an empty line. */
  let trailing = false;
  const skipTrailers = (): boolean => {
    for (;;) {
      const line = takeLine(lineEnd, mostHeadBytes, 431, "the trailer");
      if (line === null) return false;
      if (line === "") return true;
    }
  };
  const bodyWhole = (): boolean => {
    if (head!.length !== null) return fill();
    trailing ||= fillChunks();
    return trailing && skipTrailers();
  };

  return {
    push(piece) {
      held = held.byteLength === 0 ? piece : Buffer.concat([held, piece]);
    },
    next() {
      if (!head) {
        // An empty line before a request is allowed.
        while (held[0] === 0x0d && held[1] === 0x0a) held = held.subarray(2);
        const text = takeLine(headEnd, mostHeadBytes, 431, "the head");
        if (text === null) return null;
        head = headOf(text);
        lacking = head.length ?? 0;
        makeRoom(lacking);
        if (head.expects && held.byteLength === 0) onExpect();
      }
      if (!bodyWhole()) return null;
      const request = { head, body: body.length === 1 ? body[0]! : Buffer.concat(body) };
      head = null;
      body = [];
      size = 0;
      inChunk = trailing = false;
      return request;
    },
    held: () => held.byteLength,
    begun: () => head !== null || held.byteLength > 0,
  };
}

interface Connection {
  /** Ends it when it has been still for too long. */
  sweep(now: number): void;
  /** Ends it now or after its answer. */
  finish(): void;
}

function serveConnection(socket: Socket, options: HttpOptions, onClosed: () => void): Connection {
  let answering = false;
  let keep = true;
  let ended = false;
  let since = performance.now();
  const reader = createReader(options.mostBodyBytes, () => socket.write("HTTP/1.1 100 Continue\r\n\r\n"));

  const respondTo = (isHead: boolean): Respond => {
    let answered = false;
    return (status, headers, body) => {
      if (answered || socket.destroyed) return;
      answered = true;
      const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
      let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
      for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
      head += `Date: ${dateNow()}\r\nContent-Length: ${length}\r\n${keep ? "" : "Connection: close\r\n"}\r\n`;
      // One write: head and body apart would be two packets.
      if (isHead) socket.write(head, "latin1");
      else if (typeof body === "string") socket.write(head + body, "utf8");
      else {
        const whole = Buffer.allocUnsafe(head.length + length);
        whole.write(head, "latin1");
        whole.set(body, head.length);
        socket.write(whole);
      }
      since = performance.now();
      answering = false;
      if (!keep) close();
      else if (socket.writableNeedDrain) socket.once("drain", advance);
      else if (reader.held() > 0 || socket.readableEnded) setImmediate(advance);
      if (socket.isPaused()) socket.resume();
    };
  };

  const close = (): void => {
    keep = false;
    ended = true;
    since = performance.now();
    socket.end();
  };

  /** Hands the next whole request over, if there is one and none is being answered. */
  const advance = (): void => {
    if (answering || ended) return;
    try {
      const found = reader.next();
      if (!found) {
        if (socket.readableEnded) close();
        return;
      }
      answering = true;
      const { method, path, headers, keepAlive } = found.head;
      keep &&= keepAlive;
      options.handler({ method, path, headers, body: found.body }, respondTo(method === "HEAD"));
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      keep = false;
      answering = true;
      options.refuse(fault.status, fault.message, respondTo(false));
    }
  };

  socket.on("data", (piece) => {
    if (ended) return; // What comes after the last answer is read, so that the client can read that answer.
    if (!reader.begun()) since = performance.now();
    reader.push(piece);
    if (answering && reader.held() > mostHeldBytes) socket.pause();
    advance();
  });
  socket.on("end", advance); // A client may close its side and still read.
  socket.on("error", () => socket.destroy());
  socket.on("close", onClosed);
  return {
    sweep(now) {
      const limit = ended ? partingMs : reader.begun() ? options.arrivalMs : options.idleMs;
      if (!answering && now - since > limit) socket.destroy();
    },
    finish() {
      keep = false;
      if (!answering && !reader.begun()) close();
    },
  };
}

/** Creates a server; the caller lets its listener listen. */
export function createHttpServer(options: HttpOptions): HttpServer {
  const connections = new Set<Connection>();
  let draining = false;
  const listener = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const connection = serveConnection(socket, options, () => connections.delete(connection));
    connections.add(connection);
    if (draining) connection.finish();
  });
  setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.sweep(now);
  }, sweepMs).unref();
  return {
    listener,
    drain() {
      draining = true;
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const connection of connections) connection.finish();
      return closed;
    },
  };
}
