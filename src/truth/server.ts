/**
 * The truth server: writes each frame when its script says, by a loop that spins while anything is due,
 * and keeps how late every write was, so that its own error is known beside what it checks.
 */
import { createServer, type Socket } from "node:net";
import { compileAnswer, type CompiledAnswer, type TruthScript } from "./script.ts";

/** One write as it was: milliseconds after the request, asked and done. */
export interface WriteRecord {
  request: number;
  askedMs: number;
  doneMs: number;
}

export interface TruthServer {
  url: string;
  port: number;
  /** Requests taken so far. */
  requests(): number;
  /** The latest writes, at most a million. */
  records(): readonly WriteRecord[];
  close(): Promise<void>;
}

interface Open {
  socket: Socket;
  request: number;
  arrived: number;
  answer: CompiledAnswer;
  next: number;
}

const mostRecords = 1_000_000;
const mostRequestBytes = 256 * 2 ** 20;
const headEnd = Buffer.from("\r\n\r\n");

/** Calls `onRequest` with the last byte of each request on the socket. */
function takeRequests(socket: Socket, onRequest: () => void): void {
  let held: Buffer = Buffer.alloc(0);
  /** Bytes of a body still to come; null = a head is read. */
  let left: number | null = null;
  socket.on("data", (piece: Buffer) => {
    let bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
    held = Buffer.alloc(0);
    while (bytes.length > 0) {
      if (left === null) {
        const end = bytes.indexOf(headEnd);
        if (end < 0) {
          if (bytes.length > mostRequestBytes) return void socket.destroy();
          held = bytes;
          return;
        }
        left = Number(/\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, end))?.[1] ?? 0);
        bytes = bytes.subarray(end + headEnd.length);
      }
      const taken = Math.min(left, bytes.length);
      left -= taken;
      bytes = bytes.subarray(taken);
      if (left > 0) return;
      left = null;
      onRequest();
    }
  });
}

/** Starts it. Throws the system's own fault where the port cannot be had. */
export async function startTruthServer(script: TruthScript, { host, port }: { host: string; port: number }): Promise<TruthServer> {
  const answers = script.answers.map(compileAnswer);
  const open = new Set<Open>();
  const sockets = new Set<Socket>();
  const records: WriteRecord[] = [];
  let requests = 0;
  let spinning = false;
  let freezeAt = Number.POSITIVE_INFINITY;

  const step = (): void => {
    const now = performance.now();
    if (now >= freezeAt) {
      freezeAt = Number.POSITIVE_INFINITY;
      const until = now + script.freeze!.forMs;
      while (performance.now() < until);
    }
    for (const one of open) {
      const { socket, answer, arrived, request } = one;
      const { writes } = answer;
      for (let at = performance.now(); one.next < writes.length && arrived + writes[one.next]!.atMs <= at; at = performance.now()) {
        const { atMs, bytes } = writes[one.next++]!;
        socket.write(bytes);
        if (records.length === mostRecords) records.splice(0, mostRecords / 2);
        records.push({ request, askedMs: atMs, doneMs: at - arrived });
      }
      if (one.next < writes.length || performance.now() < arrived + answer.endAtMs) continue;
      open.delete(one);
      if (answer.end === "cut") socket.destroySoon();
    }
    spinning = open.size > 0;
    if (spinning) setImmediate(step);
  };

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      for (const one of open) if (one.socket === socket) open.delete(one);
    });
    takeRequests(socket, () => {
      const arrived = performance.now();
      if (requests === 0 && script.freeze) freezeAt = arrived + script.freeze.at;
      open.add({ socket, request: requests, arrived, answer: answers[requests % answers.length]!, next: 0 });
      requests++;
      if (spinning) return;
      spinning = true;
      setImmediate(step);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as { port: number };
  return {
    url: `http://${host}:${bound}/v1`,
    port: bound,
    requests: () => requests,
    records: () => records,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
