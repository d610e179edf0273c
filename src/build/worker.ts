/**
 * The worker's side of the protocol: numbered events, a heartbeat from a thread of its own that goes
 * on while the main thread sits in a native call, and an end as soon as the parent is gone.
 */
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { redact } from "../base/index.ts";
import { dieWithParent, entryUrl } from "../host/index.ts";
import type { BeatData } from "./beat.entry.ts";
import { createNumbering, writeEvent } from "./channel.ts";
import { mostLineBytes, type FailureClass, type WorkerCommand } from "./protocol.ts";

/** A failure of a known class; anything else that a job throws is `worker_crash`. */
export class JobFault extends Error {
  readonly failure: FailureClass;
  constructor(failure: FailureClass, message: string) {
    super(message);
    this.failure = failure;
  }
}
class Cancelled extends Error {}

export interface JobContext {
  /** Runs a named phase; throws when the job was cancelled before it. */
  phase<T>(name: string, work: (progress: (done: number, total: number) => void) => Promise<T> | T): Promise<T>;
  log(level: "info" | "warning", text: string): void;
  metric(name: string, value: number | null, unit: string, n: number, reason?: string): void;
  artifact(file: { path: string; bytes: number; sha256: string; kind: string; entry: string }): void;
  /** Commands after `start` and `cancel`, until `close`. */
  commands(): AsyncIterable<WorkerCommand>;
}

/** Runs this process as a worker: waits for `start`, does the job, says how it ended, exits. */
export function runWorker(
  worker: { name: string; stack(): Record<string, string> },
  job: (spec: unknown, context: JobContext) => Promise<void>,
): void {
  dieWithParent();
  let head = { v: 1, job: "", attempt: 0 };
  let cancelledBy: string | null = null;
  let lastPhase: string | null = null;
  let phases = 0;
  const phaseText = new Uint8Array(new SharedArrayBuffer(256));
  const queue: WorkerCommand[] = [];
  let wake: (() => void) | null = null;
  let closed = false;

  const numbering = createNumbering();
  const emit = (type: string, fields: object = {}): void => {
    try {
      writeEvent(numbering, { ...head, type, ...fields });
    } catch {
      process.exit(1);
    }
  };
  const clean = (text: string): string => redact(text).slice(0, mostLineBytes / 4);
  const context: JobContext = {
    async phase(name, work) {
      if (cancelledBy !== null) throw new Cancelled();
      const id = ++phases;
      lastPhase = name;
      const text = Buffer.from(name).subarray(0, 255);
      phaseText.set(text, 1);
      phaseText[0] = text.byteLength;
      emit("phase", { id, parent: null, name, edge: "start", total: null });
      let last = 0;
      const progress = (done: number, total: number): void => {
        if (Date.now() - last < 250 && done !== total) return;
        last = Date.now();
        emit("progress", { phase: id, done, total });
      };
      const result = await work(progress);
      emit("phase", { id, parent: null, name, edge: "end", total: null });
      // Lets a cancel that has arrived be read.
      await new Promise((resolve) => setImmediate(resolve));
      return result;
    },
    log: (level, text) => emit("log", { level, text: clean(text) }),
    metric: (name, value, unit, n, reason) =>
      emit("metric", { name, value, unit, n, ...(reason !== undefined && { reason: clean(reason) }) }),
    artifact: (file) => emit("artifact", file),
    async *commands() {
      for (;;) {
        const next = queue.shift();
        if (next) yield next;
        else if (closed) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
  const start = async (command: Extract<WorkerCommand, { type: "start" }>): Promise<void> => {
    head = { v: 1, job: command.job, attempt: command.attempt };
    emit("hello", { worker: worker.name, pid: process.pid, stack: worker.stack(), capabilities: { phases: true, cancel: "cooperative" } });
    new Worker(entryUrl(import.meta.url, "./beat.entry.js"), {
      workerData: { numbering, head, phase: phaseText } satisfies BeatData,
    }).unref();
    try {
      await job(command.spec, context);
      if (cancelledBy !== null) throw new Cancelled();
      emit("done");
    } catch (fault) {
      if (fault instanceof Cancelled) emit("cancelled", { by: cancelledBy, phase: lastPhase });
      else {
        const message = fault instanceof Error ? fault.message : String(fault);
        emit("error", { class: fault instanceof JobFault ? fault.failure : "worker_crash", message: clean(message) });
      }
    }
    process.exit(0);
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const command = JSON.parse(line) as WorkerCommand;
    if (command.type === "start") void start(command);
    else if (command.type === "cancel") {
      cancelledBy = command.by;
      closed = true;
      wake?.();
    } else if (command.type === "close") {
      closed = true;
      wake?.();
    } else {
      queue.push(command);
      wake?.();
    }
  });
}
