/**
 * The sending thread: raw keep-alive sockets, absolute deadlines, stamps at the socket read. The loop
 * spins on setImmediate, which lets sockets be read between turns; it uses a whole core by design
 * (`bench/results/load-generator.md`). Records leave in blocks as their last request ends.
 */
import type { Socket } from "node:net";
import { PerformanceObserver } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import type { Exchange, ExchangeReader } from "./exchange.ts";
import { createGapHistogram } from "./gaps.ts";
import { HttpFault } from "./http/answer.ts";
import type { LoadPlan } from "./plan.ts";
import { speakerOf } from "./protocols.ts";
import type { OutcomeClass } from "./records.ts";
import type { FromSender, KeptBody } from "./run.ts";
import { arrivalTimes, itemOrder } from "./schedule.ts";
import { createLedger, type Pending } from "./sender/ledger.ts";
import { createPulse } from "./sender/pulse.ts";
import { reach } from "./sender/reach.ts";

const plan = workerData as LoadPlan;
const port = parentPort!;
const now = (): number => performance.now();
/** Most sends in one turn, so that answers are read in between. */
const burst = 64;
/** A turn that takes longer than this without work of ours is a stall, milliseconds. */
const stallMs = 0.5;
/** What one send or one answer may cost in a turn before the rest counts as a stall, milliseconds. */
const workMs = 0.05;
/** What a byte written or read may cost, milliseconds: 1 GB/s through the loopback. */
const workMsPerByte = 1e-6;
/** Garbage collections from this length on are noted, so that none is taken for a stall of the host, milliseconds. */
const leastPauseMs = 0.1;

interface Connection {
  socket: Socket;
  reader: ExchangeReader;
  request: Pending | null;
  connected: boolean;
  served: boolean;
  firstAt: number;
  dead: boolean;
}

const speaker = speakerOf(plan.speech);
const closedLoop = plan.mode.kind === "closed" ? plan.mode : null;
/** Whether requests leave by a schedule. */
const scheduled = !closedLoop;
const capacity = closedLoop ? closedLoop.concurrency : plan.cap.connections;
const nextItem = itemOrder(plan.order, plan.requests.length, plan.seed);
const nextArrival = dueTimes();
const durationMs = plan.mode.kind === "trace" ? (plan.mode.dueMs.at(-1) ?? 0) + 1 : plan.mode.durationMs;

/** Due times from the warm-up's beginning, milliseconds; null = closed loop. */
function dueTimes(): (() => number) | null {
  const { mode, warmUpMs, seed } = plan;
  switch (mode.kind) {
    case "open":
      return arrivalTimes(mode.arrival, mode.profile ?? { kind: "constant", perSecond: mode.ratePerSecond }, seed, warmUpMs);
    case "trace": {
      let next = 0;
      return () => warmUpMs + (mode.dueMs[next++] ?? Number.POSITIVE_INFINITY);
    }
    case "closed":
      return null;
  }
}

const idle: Connection[] = [];
const busy = new Set<Connection>();
const waiting: Pending[] = [];
const stalls: [number, number][] = [];
const pauses: [number, number][] = [];
const inFlight: [number, number][] = [];
const bodies: KeptBody[] = [];
const gaps = createGapHistogram();
const peculiarities = new Map<string, number>();
/** Kinds that are told apart; more would be texts that name their own request. */
const mostPeculiarities = 100;
/** Milliseconds between two words on how it goes. */
const tickMs = 500;
let opened = 0;
let alive = 0;
let finishedScheduling = false;
let aborted = false;
let handled = 0;
let moved = 0;
let lastSample = 0;

const begin = now() + 5;
const windowStart = begin + plan.warmUpMs;
const windowEnd = durationMs === null ? Number.POSITIVE_INFINITY : windowStart + durationMs;

function send(message: FromSender, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

const ledger = createLedger({
  tokens: speaker.tokens,
  warmUp: plan.warmUpMs > 0,
  windowStart,
  give: (block, warmUp, buffers) => send({ block, warmUp }, buffers),
});
const pulse = createPulse(windowStart);

function finishScheduling(): void {
  finishedScheduling = true;
  ledger.close();
}

function finish(pending: Pending, outcome: OutcomeClass, at: number): void {
  ledger.finish(pending, outcome, at);
  if (plan.ticks) pulse.ended(pending, at);
}

function release(connection: Connection): void {
  busy.delete(connection);
  connection.request = null;
  const next = waiting.shift();
  if (next) dispatch(next, connection);
  else if (closedLoop) refill(connection);
  else idle.push(connection);
}

function drop(connection: Connection): void {
  if (connection.dead) return;
  connection.dead = true;
  alive--;
  busy.delete(connection);
  const at = idle.indexOf(connection);
  if (at >= 0) idle.splice(at, 1);
  connection.socket.destroy();
  const next = waiting.shift();
  if (next) dispatch(next, open());
}

function onAnswer(connection: Connection, exchange: Exchange, at: number): void {
  const pending = connection.request!;
  const { block: own, item } = pending;
  const { answer, outcome, keepAlive } = exchange;
  ledger.note(pending, connection.firstAt, exchange);
  if (plan.keepBodies && answer && !own.warmUp) {
    const { status, headerBytes, body } = answer;
    bodies.push({ item, status, headerBytes, batch: exchange.batch, body: new Uint8Array(body) });
  }
  connection.served = true;
  finish(pending, outcome, at);
  if (keepAlive) release(connection);
  else {
    connection.request = null;
    drop(connection);
    if (closedLoop) refill(null);
  }
}

function onRead(connection: Connection, bytes: Uint8Array): void {
  const at = now();
  handled++;
  moved += bytes.byteLength;
  if (!connection.request) return drop(connection); // bytes nobody asked for
  if (!connection.reader.begun()) connection.firstAt = at;
  try {
    const exchange = connection.reader.push(bytes, at);
    if (exchange) onAnswer(connection, exchange, at);
  } catch (fault) {
    if (!(fault instanceof HttpFault)) throw fault;
    fail(connection, "protocol_error", at);
  }
}

/** Ends a request whose answer is not whole; what came of it is noted. */
function giveUp(connection: Connection, outcome: OutcomeClass, at: number): void {
  const pending = connection.request;
  if (!pending) return;
  const exchange = connection.reader.end(at);
  if (exchange) ledger.note(pending, connection.firstAt, exchange);
  connection.request = null;
  finish(pending, outcome, at);
}

function fail(connection: Connection, outcome: OutcomeClass, at: number): void {
  const pending = connection.request;
  giveUp(connection, outcome, at);
  drop(connection);
  // A pause, so that a server that refuses everything is not asked without end.
  if (closedLoop && pending) setTimeout(() => refill(null), 1);
}

function open(): Connection {
  opened++;
  alive++;
  const inWindow = (): boolean => connection.request !== null && !connection.request.block.warmUp;
  const connection: Connection = {
    socket: reach(plan, (bytes) => onRead(connection, bytes)),
    reader: speaker.open({
      gap: (ms) => {
        if (inWindow()) gaps.add(ms);
      },
      peculiarity: (what) => {
        if (inWindow() && (peculiarities.has(what) || peculiarities.size < mostPeculiarities))
          peculiarities.set(what, (peculiarities.get(what) ?? 0) + 1);
      },
    }),
    request: null,
    connected: false,
    served: false,
    firstAt: Number.NaN,
    dead: false,
  };
  const { socket } = connection;
  socket.on(plan.secure ? "secureConnect" : "connect", () => {
    connection.connected = true;
    if (connection.request) write(connection, connection.request);
  });
  socket.on("error", () => {
    fail(connection, connection.connected ? "stream_error" : "connect_error", now());
  });
  socket.on("close", () => {
    if (connection.dead) return;
    const at = now();
    const exchange = connection.request && connection.reader.end(at);
    if (exchange) onAnswer(connection, exchange, at);
    else fail(connection, "stream_error", at);
  });
  return connection;
}

function write(connection: Connection, pending: Pending): void {
  const at = now();
  ledger.sent(pending, at, !connection.served, closedLoop !== null);
  const bytes = requestOf(pending);
  moved += bytes.byteLength;
  connection.socket.write(bytes);
}

/** Ten digits for the place in the schedule, the warm-up's from the other end. */
const uniqueDigits = 10;
let warmUps = 10 ** uniqueDigits;

function requestOf({ block: own, row, item }: Pending): Uint8Array {
  const bytes = plan.requests[item]!;
  const place = plan.uniqueAt?.[item];
  if (place === undefined) return bytes;
  const copy = Buffer.from(bytes);
  copy.write(String(own.warmUp ? --warmUps : own.table.index[row]!).padStart(uniqueDigits, "0"), place, "latin1");
  return copy;
}

function dispatch(pending: Pending, connection: Connection): void {
  connection.request = pending;
  busy.add(connection);
  if (connection.connected) write(connection, pending);
}

/** Open loop: a due request takes the longest idle connection, a new one, or the policy's way. */
function issue(due: number): void {
  const item = nextItem();
  if (item === null) {
    finishScheduling();
    return;
  }
  const pending = ledger.rowFor(due, item, now());
  const connection = idle.shift() ?? (alive < capacity ? open() : null);
  if (connection) dispatch(pending, connection);
  else if (plan.cap.policy === "queue") waiting.push(pending);
  else finish(pending, "unsent", now());
}

/** Closed loop: the next request on that connection (null = a new one), until the end. */
function refill(connection: Connection | null): void {
  const at = now();
  if (finishedScheduling || aborted || at >= windowEnd) {
    finishScheduling();
    if (connection) idle.push(connection);
    return;
  }
  const item = nextItem();
  if (item === null) {
    finishScheduling();
    if (connection) idle.push(connection);
    return;
  }
  dispatch(ledger.rowFor(at, item, at), connection ?? open());
}

/** Requests leave the set of busy connections in about the order in which they were sent, so the oldest is first. */
function expire(at: number): void {
  for (const connection of busy) {
    const pending = connection.request!;
    if (at - pending.due < plan.timeoutMs) {
      if (scheduled) break;
      continue;
    }
    giveUp(connection, connection.connected ? "timeout" : "connect_error", at);
    drop(connection);
    if (closedLoop) refill(null);
  }
  while (waiting.length > 0 && at - waiting[0]!.due >= plan.timeoutMs) finish(waiting.shift()!, "unsent", at);
}

function sample(at: number): void {
  if (at < windowStart || at >= windowEnd || at - lastSample < 0.5) return;
  lastSample = at;
  const slot = Number.isFinite(windowEnd) ? Math.min(9, Math.floor((10 * (at - windowStart)) / (windowEnd - windowStart))) : 0;
  const entry = (inFlight[slot] ??= [0, 0]);
  entry[0]++;
  entry[1] += busy.size + waiting.length;
}

function end(): void {
  for (const connection of [...busy, ...idle]) {
    connection.dead = true;
    connection.socket.destroy();
  }
  ledger.flush();
  send({
    done: {
      windowStartMs: performance.timeOrigin + windowStart,
      stalls,
      pauses,
      inFlight: inFlight.filter(Boolean),
      opened,
      windowMs: Math.min(now(), windowEnd) - windowStart,
      bodies,
      gaps: speaker.tokens ? gaps.counts() : null,
      peculiarities: [...peculiarities],
    },
  });
  observer.disconnect();
  port.close();
}

const observer = new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) if (duration > leastPauseMs) pauses.push([startTime - windowStart, duration]);
});
observer.observe({ entryTypes: ["gc"] });

function cancelAll(): void {
  const at = now();
  finishScheduling();
  for (const connection of busy) {
    giveUp(connection, "cancelled", at);
    connection.dead = true;
    connection.socket.destroy();
  }
  busy.clear();
  for (const pending of waiting.splice(0)) finish(pending, "cancelled", at);
}

let nextDue = nextArrival ? begin + nextArrival() : Number.POSITIVE_INFINITY;
let lastTurn = now();
let lastExpiry = 0;
let lastTick = 0;

function step(): void {
  const at = now();
  const gap = at - lastTurn;
  if (gap > stallMs + handled * workMs + moved * workMsPerByte && at > windowStart) {
    stalls.push([lastTurn - windowStart, gap]);
  }
  lastTurn = at;
  handled = moved = 0;
  if (aborted) cancelAll();
  for (let sent = 0; !finishedScheduling && nextDue <= at && sent < burst; sent++) {
    if (nextDue >= windowEnd) {
      finishScheduling();
      break;
    }
    pulse.lag(at - nextDue);
    issue(nextDue);
    handled++;
    nextDue = begin + nextArrival!();
  }
  if (!finishedScheduling && at >= windowEnd && nextDue >= windowEnd) finishScheduling();
  if (at - lastExpiry > 5) {
    lastExpiry = at;
    expire(at);
  }
  sample(at);
  if (plan.ticks && at - lastTick > tickMs) {
    lastTick = at;
    send({ tick: pulse.take(at, busy.size, waiting.length) });
  }
  if (finishedScheduling && busy.size === 0 && waiting.length === 0) end();
  else setImmediate(step);
}

port.on("message", () => void (aborted = true));
if (closedLoop) {
  const start = (): void => {
    for (let i = 0; i < closedLoop.concurrency; i++) refill(null);
  };
  setTimeout(start, Math.max(0, begin - now()) + 1);
}
setImmediate(step);
