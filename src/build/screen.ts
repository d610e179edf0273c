/**
 * Screening in process: one worker keeps the sessions of every arm open and measures the arm it is
 * asked for, so that a visit is short and two arms see the same host.
 */
import type { SessionSettings } from "../workload/index.ts";
import type { WorkerEvent } from "./protocol.ts";
import { startJob, type Job, type JobOptions, type WorkerSpec } from "./supervisor.ts";

export interface ScreenArm {
  id: string;
  modelPath: string;
  /** Bytes of the model and its weights. */
  bytes: number;
  session: SessionSettings;
  /** File of items, in groups of equal shape. */
  inputsFile: string;
}

export interface Screen {
  /** Wall milliseconds per item; null when it failed or one item cost more than the cut-off. */
  visit(arm: string, windowMs: number, cutOffMsPerItem: number | null): Promise<{ value: number | null; reason?: string }>;
  close(): Promise<void>;
}

/** Opens the worker; `screenJob` makes its own form of the job. A worker that dies is started again for the next visit. */
export function openScreen(spec: WorkerSpec, screenJob: unknown, options: JobOptions): Screen {
  const pending = new Map<number, (result: { value: number | null; reason?: string }) => void>();
  let visits = 0;
  const hear = (event: WorkerEvent): void => {
    options.onEvent?.(event);
    if (event.type !== "metric") return;
    pending.get(event.n)?.({ value: event.value, ...(event.reason !== undefined && { reason: event.reason }) });
    pending.delete(event.n);
  };
  let job: Job | null = null;
  const running = (): Job => {
    if (job) return job;
    const own = startJob(spec, screenJob, { ...options, onEvent: hear });
    job = own;
    void own.outcome.then((outcome) => {
      if (job === own) job = null;
      const reason = outcome.kind === "failed" ? outcome.message : `the worker ended (${outcome.kind})`;
      for (const resolve of pending.values()) resolve({ value: null, reason });
      pending.clear();
    });
    return own;
  };
  return {
    async visit(arm, windowMs, cutOffMsPerItem) {
      options.signal?.throwIfAborted();
      const visit = ++visits;
      const result = await new Promise<{ value: number | null; reason?: string }>((resolve) => {
        pending.set(visit, resolve);
        running().send({ type: "visit", visit, arm, windowMs, cutOffMsPerItem });
      });
      options.signal?.throwIfAborted();
      return result;
    },
    async close() {
      job?.send({ type: "close" });
      await job?.outcome;
    },
  };
}
