/**
 * Runs workers and answers for them: life by heartbeats, an end by a maximum duration, cancelling with
 * grace and proof of death, one terminal outcome. It knows the protocol and nothing of what is built.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { fileURLToPath } from "node:url";
import { redact } from "../base/index.ts";
import {
  beatMs,
  failureClasses,
  mostLineBytes,
  workerEventSchema,
  type FailureClass,
  type WorkerCommand,
  type WorkerEvent,
} from "./protocol.ts";

export interface WorkerSpec {
  name: string;
  /** The compiled entry file. */
  entry: URL;
}

export interface JobOptions {
  /** After this the job is killed: `timeout`. */
  maxDurationMs: number;
  /** From the request to cancel until SIGTERM, and again until SIGKILL. */
  graceMs?: number;
  /** No event for this long: `stalled`. Three beats unless said. */
  silenceMs?: number;
  signal?: AbortSignal | undefined;
  onEvent?: ((event: WorkerEvent) => void) | undefined;
}

export interface Phase {
  name: string;
  /** Since the job began. */
  startMs: number;
  lengthMs: number;
}

export type JobArtifact = Pick<Extract<WorkerEvent, { type: "artifact" }>, "path" | "bytes" | "sha256" | "kind" | "entry">;

interface Common {
  phases: Phase[];
  lengthMs: number;
}
export type JobOutcome = Common &
  (
    | { kind: "done"; artifact: JobArtifact | null }
    | { kind: "failed"; class: FailureClass; message: string; retryable: boolean }
    | { kind: "cancelled"; by: string; phase: string }
  );

export interface Job {
  readonly outcome: Promise<JobOutcome>;
  send(command: WorkerCommand): void;
  /** Asks to end; the answer is the same however often it is asked. */
  cancel(by: string): Promise<JobOutcome>;
}

const groupAlive = (pid: number): boolean => {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
};
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a worker on a job. */
export function startJob(spec: WorkerSpec, start: unknown, options: JobOptions): Job {
  const { maxDurationMs, graceMs = 10_000, silenceMs = 3 * beatMs, signal, onEvent } = options;
  const began = performance.now();
  const sinceStart = (): number => performance.now() - began;
  const id = randomUUID();
  const child = spawn(process.execPath, [fileURLToPath(spec.entry)], { stdio: ["pipe", "pipe", "pipe", "pipe"], detached: true });
  const phases: (Phase & { id: number })[] = [];
  let artifact: JobArtifact | null = null;
  let terminal: WorkerEvent | null = null;
  let broken: { class: FailureClass; message: string } | null = null;
  let cancelling: string | null = null;
  let killed = false;
  let seq = 0;
  let lines = "";
  let lastPhase: string | null = null;
  let lastEvent = began;

  const kill = (by: NodeJS.Signals): void => {
    killed ||= by === "SIGKILL";
    try {
      process.kill(-child.pid!, by);
    } catch {
      // Already gone.
    }
  };
  const breakOff = (failure: FailureClass, message: string): void => {
    broken ??= { class: failure, message };
    kill("SIGKILL");
  };
  const send = (command: WorkerCommand): void => void (child.stdin!.writable && child.stdin!.write(`${JSON.stringify(command)}\n`));

  const take = (event: WorkerEvent): void => {
    lastEvent = performance.now();
    if (terminal) return breakOff("worker_crash", `it spoke after its end: ${event.type}`);
    if (event.type === "phase") {
      if (event.edge === "start") {
        phases.push({ id: event.id, name: event.name, startMs: sinceStart(), lengthMs: 0 });
        lastPhase = event.name;
      } else {
        const phase = phases.find((one) => one.id === event.id);
        if (phase) phase.lengthMs = sinceStart() - phase.startMs;
      }
    } else if (event.type === "artifact") artifact = event;
    else if (event.type === "done" || event.type === "error" || event.type === "cancelled") terminal = event;
    onEvent?.(event);
  };
  let held = "";
  const decoder = new StringDecoder("utf8");
  child.stdio[3]!.on("data", (piece: Buffer) => {
    held += decoder.write(piece);
    for (let end = held.indexOf("\n"); end >= 0 && !broken; end = held.indexOf("\n")) {
      const line = held.slice(0, end);
      held = held.slice(end + 1);
      if (line.length > mostLineBytes) return breakOff("worker_crash", `protocol: a line is longer than ${mostLineBytes} bytes`);
      let value: unknown = null;
      try {
        value = JSON.parse(line);
      } catch {
        // Said below.
      }
      const parsed = workerEventSchema.safeParse(value);
      if (!parsed.success) return breakOff("worker_crash", `protocol: an event does not fit: ${line.slice(0, 200)}`);
      if (parsed.data.seq !== seq) return breakOff("worker_crash", `protocol: event ${parsed.data.seq} came where ${seq} was expected`);
      seq++;
      take(parsed.data);
    }
    if (held.length > mostLineBytes) breakOff("worker_crash", `protocol: a line is longer than ${mostLineBytes} bytes`);
  });
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (piece: Buffer) => void (lines = (lines + redact(piece.toString())).slice(-4000)));
  child.stdin!.on("error", () => {});

  const tooLong = setTimeout(() => breakOff("timeout", `it took longer than ${maxDurationMs / 1000} s`), maxDurationMs);
  const silence = setInterval(
    () => {
      if (performance.now() - lastEvent > silenceMs) breakOff("stalled", `no sign of life for ${silenceMs / 1000} s`);
    },
    Math.min(500, silenceMs / 3),
  );

  const outcome = new Promise<void>((resolve) => {
    child.once("error", (fault) => {
      broken ??= { class: "worker_crash", message: fault.message };
      resolve();
    });
    child.once("close", () => resolve());
  }).then(async (): Promise<JobOutcome> => {
    clearTimeout(tooLong);
    clearInterval(silence);
    signal?.removeEventListener("abort", onAbort);
    if (child.pid !== undefined) {
      if (groupAlive(child.pid)) kill("SIGKILL");
      while (groupAlive(child.pid)) await wait(20);
    }
    const common = { phases: phases.map(({ name, startMs, lengthMs }) => ({ name, startMs, lengthMs })), lengthMs: sinceStart() };
    const failed = (failure: FailureClass, message: string): JobOutcome => ({
      ...common,
      kind: "failed",
      class: failure,
      message,
      retryable: failureClasses[failure].retryable,
    });
    if (cancelling !== null) return { ...common, kind: "cancelled", by: cancelling, phase: killed ? "killed" : (lastPhase ?? "start") };
    if (broken) return failed(broken.class, broken.message);
    switch (terminal?.type) {
      case "done":
        return { ...common, kind: "done", artifact };
      case "error":
        return failed(terminal.class, terminal.message);
      default: {
        const outOfMemory = /out of memory|bad_alloc|heap limit/i.test(lines);
        const end = child.signalCode ?? `exit ${child.exitCode}`;
        return failed(outOfMemory ? "oom" : "worker_crash", `it ended without a word (${end}) ${lines.trim().slice(-500)}`.trim());
      }
    }
  });

  const cancel = (by: string): Promise<JobOutcome> => {
    if (cancelling === null && terminal === null && !broken) {
      cancelling = by;
      send({ type: "cancel", by });
      void (async () => {
        const gone = outcome.then(() => true);
        for (const next of ["SIGTERM", "SIGKILL"] as const) {
          if (await Promise.race([gone, wait(graceMs).then(() => false)])) return;
          kill(next);
        }
      })();
    }
    return outcome;
  };
  const onAbort = (): void => void cancel("signal");
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  send({ type: "start", job: id, attempt: 1, spec: start });
  return { outcome, send, cancel };
}

/** Runs a job to its end. */
export const runJob = (spec: WorkerSpec, start: unknown, options: JobOptions): Promise<JobOutcome> =>
  startJob(spec, start, options).outcome;
