/**
 * The worker's way to its supervisor: numbered JSON lines on the event descriptor, from the main thread
 * and the beating thread alike. One lock guards number and line, so that they leave in order.
 */
import { writeSync } from "node:fs";
import { eventDescriptor } from "./protocol.ts";

/** What both threads share: [lock, next number]. */
export const createNumbering = (): Int32Array => new Int32Array(new SharedArrayBuffer(8));

/** Writes one event, whole. Throws the system's fault when the supervisor is gone. */
export function writeEvent(numbering: Int32Array, event: object): void {
  while (Atomics.compareExchange(numbering, 0, 0, 1) !== 0) Atomics.wait(numbering, 0, 1, 10);
  try {
    const line = Buffer.from(`${JSON.stringify({ ...event, seq: Atomics.add(numbering, 1, 1), t: Date.now() })}\n`);
    for (let at = 0; at < line.byteLength;) {
      try {
        at += writeSync(eventDescriptor, line, at);
      } catch (fault) {
        if ((fault as NodeJS.ErrnoException).code !== "EAGAIN") throw fault;
      }
    }
  } finally {
    Atomics.store(numbering, 0, 0);
    Atomics.notify(numbering, 0);
  }
}
