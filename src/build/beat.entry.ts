/** The beating thread of a worker: goes on while the main thread sits in a native call. It proves life only. */
import { workerData } from "node:worker_threads";
import { writeEvent } from "./channel.ts";
import { beatMs } from "./protocol.ts";

export interface BeatData {
  numbering: Int32Array;
  head: { v: number; job: string; attempt: number };
  /** [length, UTF-8 bytes] of the name of the last phase. */
  phase: Uint8Array;
}

const { numbering, head, phase } = workerData as BeatData;
setInterval(() => {
  const length = phase[0]!;
  const lastPhase = length === 0 ? null : Buffer.from(phase.slice(1, 1 + length)).toString();
  try {
    writeEvent(numbering, { ...head, type: "heartbeat", rssBytes: process.memoryUsage.rss(), lastPhase });
  } catch {
    // The supervisor is gone; the watch on the parent ends this process.
  }
}, beatMs);
