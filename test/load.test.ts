import { createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { runLoad, summarise, type LoadPlan } from "../src/load/index.ts";

type Reply = (socket: Socket, request: number) => void;
const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/** A raw server: calls the script once for each request; requests are 16 bytes. */
function scripted(reply: Reply): Promise<number> {
  let count = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let held = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      for (held += bytes.byteLength; held >= 16; held -= 16) reply(socket, count++);
    });
  });
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)));
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const plan = (port: number, more: Partial<LoadPlan> = {}): LoadPlan => ({
  speech: { protocol: "oip", outputs: null },
  host: "127.0.0.1",
  port,
  requests: [Buffer.from("GET / HTTP/1.1\r\n".padEnd(16).slice(0, 16))],
  order: "shuffled",
  mode: { kind: "open", arrival: { kind: "constant" }, ratePerSecond: 200, durationMs: 500 },
  warmUpMs: 0,
  timeoutMs: 300,
  cap: { connections: 16, policy: "queue" },
  seed: "1",
  ...more,
});
const sumUp = async (own: LoadPlan, signal?: AbortSignal) => {
  const run = await runLoad(own, signal);
  return { ...summarise(run.table, run.context, { latencyLimitMs: 1000 }), run };
};
const total = (ledger: Record<string, number>): number => Object.values(ledger).reduce((a, b) => a + b, 0);

describe("the load generator", () => {
  it("queues behind its one connection and counts the wait: 10/s constant, cap 1, service 500 ms, 8 requests", async () => {
    const port = await scripted((socket) => void setTimeout(() => socket.write(ok), 500));
    const { run } = await sumUp(
      plan(port, {
        mode: { kind: "open", arrival: { kind: "constant" }, ratePerSecond: 10, durationMs: 799 },
        cap: { connections: 1, policy: "queue" },
        timeoutMs: 10_000,
      }),
    );
    const { table } = run;
    const ms = (from: Float64Array, to: Float64Array): number[] => Array.from(to, (at, i) => (at - from[i]!) / 1e9);
    const e2e = ms(table.scheduledNs, table.doneNs);
    expect(e2e.map((value) => value.toFixed(1))).toEqual(["0.5", "0.9", "1.3", "1.7", "2.1", "2.5", "2.9", "3.3"]);
    const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
    expect(mean(e2e)).toBeCloseTo(1.9, 1);
    expect(mean(ms(table.sentNs, table.doneNs))).toBeCloseTo(0.5, 1);
    expect(mean(ms(table.scheduledNs, table.sentNs))).toBeCloseTo(1.4, 1);
  });

  it("leaves unsent what finds no connection, when told to drop", async () => {
    const port = await scripted((socket) => void setTimeout(() => socket.write(ok), 100));
    const { ledger, scheduled } = await sumUp(plan(port, { cap: { connections: 1, policy: "drop" } }));
    expect(scheduled).toBe(100);
    expect(ledger.unsent).toBeGreaterThan(80);
    expect(total(ledger)).toBe(100);
  });

  it("shows a freeze of the server to every request that was due in it", async () => {
    let frozenUntil = 0;
    const port = await scripted((socket, n) => {
      if (n === 40) frozenUntil = Date.now() + 300;
      setTimeout(() => socket.write(ok), Math.max(0, frozenUntil - Date.now()));
    });
    const { latencyMs, scheduled } = await sumUp(plan(port, { timeoutMs: 5000 }));
    expect(scheduled).toBe(100);
    // 60 of 100 requests were due in the freeze: the median sees it.
    expect(latencyMs[60]).toBeGreaterThan(50);
    expect(latencyMs[99]).toBeGreaterThan(250);
  });

  it.each<[string, Reply, string]>([
    ["refusals", (socket) => void socket.write("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), "throttled"],
    ["faults of the server", (socket) => void socket.write("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), "http_error"],
    ["cuts in the middle of a body", (socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"), "stream_error"],
    ["silence", () => {}, "timeout"],
    ["what is no HTTP", (socket) => void socket.write("hello there\r\n\r\n"), "protocol_error"],
  ])("puts %s in their class, and the classes sum to the scheduled", async (_, reply, outcome) => {
    const port = await scripted(reply);
    const { ledger, scheduled, succeeded } = await sumUp(plan(port, { cap: { connections: 200, policy: "queue" } }));
    expect(ledger[outcome as "timeout"]).toBe(100);
    expect(total(ledger)).toBe(scheduled);
    expect(succeeded).toBe(0);
  });

  it("calls a 200 without the outputs a protocol error", async () => {
    const port = await scripted((socket) => void socket.write(ok));
    expect((await sumUp(plan(port, { speech: { protocol: "oip", outputs: ["y"] } }))).ledger.protocol_error).toBe(100);
  });

  it("counts connections that are refused", async () => {
    const port = await scripted(() => {});
    closers.splice(0).forEach((close) => close());
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { ledger } = await sumUp(plan(port));
    expect(ledger.connect_error).toBe(100);
  });

  it("opens a new connection where the server closes after each answer", async () => {
    const port = await scripted((socket) => void socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
    const { ledger, run } = await sumUp(plan(port));
    expect(ledger.good).toBe(100);
    expect(run.table.fresh.every((fresh) => fresh === 1)).toBe(true);
  });

  it("sends each request once in a closed loop, keeps the bodies, and ends", async () => {
    const port = await scripted(
      (socket, n) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n${String(n).padStart(3, "0")}`),
    );
    const requests = Array.from({ length: 50 }, (_, i) => Buffer.from(`GET /${i} X`.padEnd(16)));
    const { run, ledger } = await sumUp(
      plan(port, { requests, order: "once", mode: { kind: "closed", concurrency: 4, durationMs: null }, keepBodies: true }),
    );
    expect(ledger.good).toBe(50);
    expect([...run.bodies].map(({ item }) => item).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  it("ends at once when it is stopped, and says what was cut off", async () => {
    const port = await scripted(() => {});
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 300);
    const { ledger, reasons } = await sumUp(
      plan(port, { timeoutMs: 60_000, mode: { kind: "open", arrival: { kind: "constant" }, ratePerSecond: 100, durationMs: 60_000 } }),
      controller.signal,
    );
    expect(ledger.cancelled).toBeGreaterThan(0);
    expect(reasons.join()).toMatch(/stopped/);
  });
});
