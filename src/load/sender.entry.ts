/**
 * The sending thread: raw keep-alive sockets, absolute deadlines, stamps at the socket read. The loop
 * spins on setImmediate, which lets sockets be read between turns; it uses a whole core by design
 * (`bench/results/load-generator.md`). Records leave in blocks as their last request ends.
 */
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { PerformanceObserver } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import type { Exchange, ExchangeReader } from "./exchange.ts";
import { createGapHistogram } from "./gaps.ts";
import { HttpFault } from "./http.ts";
import type { LoadPlan } from "./plan.ts";
import { speakerOf } from "./protocols.ts";
import { buffersOf, createTable, headOf, outcomeNumber, type OutcomeClass, type RecordTable } from "./records.ts";
import type { FromSender, KeptBody } from "./run.ts";
import { arrivalTimes, itemOrder } from "./schedule.ts";

const plan = workerData as LoadPlan;
const port = parentPort!;
const now = (): number => performance.now();
const blockRows = 8192;
/** Small, so that the warm-up has handed some over before the window begins. */
const warmUpRows = 512;
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

/** Blocks of the warm-up are filled and handed over like any other: code that the window is first to run would be compiled in it. */
interface Block {
  table: RecordTable;
  warmUp: boolean;
  used: number;
  open: number;
  closed: boolean;
}
interface Pending {
  block: Block;
  row: number;
  item: number;
  due: number;
}
interface Connection {
  socket: Socket;
  reader: ExchangeReader;
  request: Pending | null;
  connected: boolean;
  served: boolean;
  firstAt: number;
  dead: boolean;
}

const speaker = speakerOf(plan);
const closedLoop = plan.mode.kind === "closed" ? plan.mode : null;
const openLoop = plan.mode.kind === "open" ? plan.mode : null;
const capacity = closedLoop ? closedLoop.concurrency : plan.cap.connections;
const nextItem = itemOrder(plan.order, plan.requests.length, plan.seed);
const nextArrival = openLoop ? arrivalTimes(openLoop.arrival, openLoop.ratePerSecond, plan.seed) : null;
const durationMs = openLoop?.durationMs ?? closedLoop?.durationMs ?? null;

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
let opened = 0;
let alive = 0;
let recorded = 0;
let block: Block | null = null;
let finishedScheduling = false;
let aborted = false;
let handled = 0;
let moved = 0;
let lastSample = 0;

const begin = now() + 5;
const windowStart = begin + plan.warmUpMs;
const windowEnd = durationMs === null ? Number.POSITIVE_INFINITY : windowStart + durationMs;
const ns = (ms: number): number => Math.round((ms - windowStart) * 1e6);

function rowFor(due: number, item: number): Pending {
  const warmUp = due < windowStart && plan.warmUpMs > 0;
  if (!block || block.used === block.table.length || block.warmUp !== warmUp) {
    const last = block;
    block = { table: createTable(warmUp ? warmUpRows : blockRows, speaker.tokens), warmUp, used: 0, open: 0, closed: false };
    if (last) {
      last.closed = true;
      flush(last);
    }
  }
  const row = block.used++;
  block.open++;
  const { table } = block;
  table.index[row] = warmUp ? 0 : recorded++;
  table.item[row] = item;
  table.scheduledNs[row] = ns(due);
  table.issuedNs[row] = ns(now());
  table.sentNs[row] = table.firstByteNs[row] = Number.NaN;
  table.queueUs[row] = table.computeUs[row] = Number.NaN;
  const { tokens } = table;
  if (tokens) tokens.firstTokenNs[row] = tokens.visibleNs[row] = tokens.lastTokenNs[row] = Number.NaN;
  return { block, row, item, due };
}

function send(message: FromSender, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function flush(done: Block): void {
  if (done.open === 0 && (done.closed || finishedScheduling) && done.used > 0) {
    // Handed over, not copied: a copy of this size would hold up the loop.
    send({ block: headOf(done.table, done.used), warmUp: done.warmUp }, buffersOf(done.table));
    done.used = 0;
    if (block === done) block = null;
  }
}

function finish(pending: Pending, outcome: OutcomeClass, at: number): void {
  const { block: own, row } = pending;
  own.table.outcome[row] = outcomeNumber(outcome);
  own.table.doneNs[row] = ns(at);
  own.open--;
  flush(own);
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

function note(connection: Connection, exchange: Exchange): void {
  const { block: own, row } = connection.request!;
  const { table } = own;
  table.firstByteNs[row] = ns(connection.firstAt);
  table.status[row] = exchange.status;
  table.queueUs[row] = exchange.queueUs;
  table.computeUs[row] = exchange.computeUs;
  table.batch[row] = exchange.batch;
  table.bytesIn[row] = exchange.bytes;
  const { tokens: into } = table;
  const { tokens } = exchange;
  if (!into || !tokens) return;
  into.firstTokenNs[row] = ns(tokens.firstAt);
  into.visibleNs[row] = ns(tokens.visibleAt);
  into.lastTokenNs[row] = ns(tokens.lastAt);
  into.longestGapUs[row] = tokens.longestGapMs * 1000;
  into.frames[row] = tokens.frames;
  into.firstTokens[row] = tokens.firstTokens;
  into.promptTokens[row] = tokens.promptTokens;
  into.cachedTokens[row] = tokens.cachedTokens;
  into.outputTokens[row] = tokens.outputTokens;
  into.reasoningTokens[row] = tokens.reasoningTokens;
}

function onAnswer(connection: Connection, exchange: Exchange, at: number): void {
  const pending = connection.request!;
  const { block: own, item } = pending;
  const { answer, outcome, keepAlive } = exchange;
  note(connection, exchange);
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
  if (exchange) note(connection, exchange);
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

const shared = Buffer.allocUnsafe(262_144);

function reach(hear: (bytes: Uint8Array) => void): Socket {
  const { host, port: at } = plan;
  if (plan.secure) {
    const socket = connectSecurely({ host, port: at, servername: host, ALPNProtocols: ["http/1.1"] });
    socket.setNoDelay(true);
    return socket.on("data", hear);
  }
  const callback = (size: number): boolean => {
    hear(shared.subarray(0, size));
    return true;
  };
  return connect({ host, port: at, noDelay: true, onread: { buffer: shared, callback } });
}

function open(): Connection {
  opened++;
  alive++;
  const inWindow = (): boolean => connection.request !== null && !connection.request.block.warmUp;
  const connection: Connection = {
    socket: reach((bytes) => onRead(connection, bytes)),
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
  const { table } = pending.block;
  table.sentNs[pending.row] = ns(at);
  table.fresh[pending.row] = connection.served ? 0 : 1;
  if (closedLoop) table.scheduledNs[pending.row] = table.issuedNs[pending.row] = ns(at);
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
    finishedScheduling = true;
    return;
  }
  const pending = rowFor(due, item);
  const connection = idle.shift() ?? (alive < capacity ? open() : null);
  if (connection) dispatch(pending, connection);
  else if (plan.cap.policy === "queue") waiting.push(pending);
  else finish(pending, "unsent", now());
}

/** Closed loop: the next request on that connection (null = a new one), until the end. */
function refill(connection: Connection | null): void {
  const at = now();
  if (finishedScheduling || aborted || at >= windowEnd) {
    finishedScheduling = true;
    if (connection) idle.push(connection);
    return;
  }
  const item = nextItem();
  if (item === null) {
    finishedScheduling = true;
    if (connection) idle.push(connection);
    return;
  }
  dispatch(rowFor(at, item), connection ?? open());
}

/** Requests leave the set of busy connections in about the order in which they were sent, so the oldest is first. */
function expire(at: number): void {
  for (const connection of busy) {
    const pending = connection.request!;
    if (at - pending.due < plan.timeoutMs) {
      if (openLoop) break;
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
  if (block) flush(block);
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
  finishedScheduling = true;
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
      finishedScheduling = true;
      break;
    }
    issue(nextDue);
    handled++;
    nextDue = begin + nextArrival!();
  }
  if (!finishedScheduling && at >= windowEnd && nextDue >= windowEnd) finishedScheduling = true;
  if (at - lastExpiry > 5) {
    lastExpiry = at;
    expire(at);
  }
  sample(at);
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
