/**
 * One run of the load generator: starts the sending thread and the watcher, streams the records to
 * disk while they come, and gives them back with what they cannot hold.
 */
import { Worker, type WorkerOptions } from "node:worker_threads";
import { AssayError } from "../base/index.ts";
import { entryUrl, hostTicks } from "../host/index.ts";
import type { GapCounts } from "./gaps.ts";
import type { LoadContext, LoadPlan, LoadTick } from "./plan.ts";
import { rowAt } from "./metrics/index.ts";
import { hasTokens, joinTables, openRecords, outcomeNumber, type RecordTable } from "./records.ts";
import { tokensWithin } from "./figures.ts";

export interface KeptBody {
  item: number;
  status: number;
  headerBytes: number | null;
  /** Items of the server's run; 0 = not told. */
  batch: number;
  body: Uint8Array;
}

interface SenderDone {
  stalls: [number, number][];
  pauses: [number, number][];
  inFlight: [number, number][];
  opened: number;
  windowMs: number;
  /** Wall clock of the window's start, milliseconds, fractional. */
  windowStartMs: number;
  bodies: KeptBody[];
  gaps: GapCounts | null;
  peculiarities: [string, number][];
}
/** What the sending thread says. */
export type FromSender = { block: RecordTable; warmUp: boolean } | { tick: LoadTick } | { done: SenderDone };

export interface LoadRun {
  table: RecordTable;
  context: LoadContext;
  /** The answers, where the plan asked to keep them, in order of arrival. */
  bodies: readonly KeptBody[];
}

function carried(tables: readonly RecordTable[], windowMs: number): number {
  let tokens = 0;
  for (const table of tables) {
    if (!hasTokens(table)) continue;
    for (let row = 0; row < table.length; row++) tokens += tokensWithin(rowAt(table, row), 0, windowMs);
  }
  return tokens;
}

function warmUpOf(tables: readonly RecordTable[]): NonNullable<LoadContext["warmUp"]> {
  const good = outcomeNumber("good");
  let [sent, well] = [0, 0];
  for (const { length, sentNs, outcome } of tables)
    for (let row = 0; row < length; row++) {
      if (!Number.isNaN(sentNs[row])) sent++;
      if (outcome[row] === good) well++;
    }
  return { sent, good: well };
}

function offeredBy(mode: LoadPlan["mode"]): number | null {
  switch (mode.kind) {
    case "open":
      return mode.ratePerSecond;
    case "trace":
      return mode.dueMs.length / Math.max(0.001, (mode.dueMs.at(-1) ?? 0) / 1000);
    case "closed":
      return null;
  }
}

/** Pauses of the generator's own garbage collection that count against a run, milliseconds. */
const pauseMs = 1;

/** Small, so that its collections are many and short: pauses above 1 ms became a third (`bench/results/truth.md`). */
const senderYoungMb = 4;

const start = (name: string, options: WorkerOptions = {}): Worker => new Worker(entryUrl(import.meta.url, name), options);

/**
 * Runs a plan against a server. Throws LOAD_FAILED when the generator itself fails, DISK_FULL when the
 * records find no room. When the signal fires, what is open becomes `cancelled`, and it returns at once.
 */
export async function runLoad(plan: LoadPlan, signal?: AbortSignal, onTick?: (tick: LoadTick) => void): Promise<LoadRun> {
  signal?.throwIfAborted();
  const { recordsPath, ...work } = plan;
  const writer = recordsPath === undefined ? null : openRecords(recordsPath);
  const tables: RecordTable[] = [];
  /** Of the warm-up: counted only for the tokens that they bring inside the window. */
  const before: RecordTable[] = [];
  const ticks = hostTicks();
  const watcher = start("./watcher.entry.js");
  const sender = start("./sender.entry.js", {
    workerData: { ...work, ticks: onTick !== undefined },
    resourceLimits: { maxYoungGenerationSizeMb: senderYoungMb },
  });
  const stop = (): void => sender.postMessage("stop");
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const done = await new Promise<SenderDone>((resolve, reject) => {
      const failed = (cause: unknown): void =>
        reject(new AssayError("LOAD_FAILED", `the sending thread ended: ${String(cause)}`, { cause }));
      sender.on("message", (message: FromSender) => {
        if ("done" in message) return resolve(message.done);
        if ("tick" in message) return onTick?.(message.tick);
        if (message.warmUp) return void before.push(message.block);
        tables.push(message.block);
        writer?.write(message.block);
      });
      sender.once("error", failed);
      sender.once("exit", (code) => failed(`exit ${code}`));
    });
    const late = await new Promise<[number, number][]>((resolve) => {
      watcher.once("message", resolve);
      watcher.once("error", () => resolve([]));
      watcher.postMessage("stop");
    });
    const after = hostTicks();
    const { stalls, pauses, inFlight, opened, windowMs, windowStartMs, bodies, gaps, peculiarities } = done;
    const watched = late.map(([at, length]): [number, number] => [at - windowStartMs, length]);
    const inWindow = ([at, length]: [number, number]): boolean => at + length > 0 && at < windowMs;
    const round = ([at, length]: [number, number]): [number, number] => [Number(at.toFixed(3)), Number(length.toFixed(3))];
    const ours = pauses.filter(inWindow);
    const overlaps = ([at, length]: [number, number]): boolean => ours.some(([start_, gc]) => at < start_ + gc && start_ < at + length);
    await writer?.close();
    return {
      table: joinTables(tables),
      context: {
        openRatePerSecond: offeredBy(plan.mode),
        windowMs,
        timeoutMs: plan.timeoutMs,
        stalls: [...stalls.filter((gap) => !overlaps(gap)), ...watched]
          .filter(inWindow)
          .sort((a, b) => a[0] - b[0])
          .map(round),
        pauses: ours.filter(([, length]) => length > pauseMs).map(round),
        inFlight,
        stolenRatio: ticks && after && after.total > ticks.total ? (after.steal - ticks.steal) / (after.total - ticks.total) : null,
        connections: opened,
        ...(before.length > 0 && { warmUp: warmUpOf(before) }),
        ...(gaps && { gaps, carriedTokens: carried(before, windowMs) }),
        ...(peculiarities.length > 0 && { peculiarities }),
      },
      bodies,
    };
  } catch (fault) {
    await writer?.close().catch(() => {});
    throw fault;
  } finally {
    signal?.removeEventListener("abort", stop);
    await Promise.all([sender.terminate(), watcher.terminate()]);
  }
}
