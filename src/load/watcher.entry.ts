/** The second witness of host stalls: a thread that sleeps a millisecond at a time and notes when it is woken late. */
import { parentPort } from "node:worker_threads";

/** Lateness that counts, milliseconds. A sleeper is woken late by a busy machine too, so it must be more than the sender's own. */
const lateMs = 2;
const bell = new Int32Array(new SharedArrayBuffer(4));
const gaps: [number, number][] = [];
let last = performance.timeOrigin + performance.now();

function look(): void {
  for (let i = 0; i < 50; i++) {
    Atomics.wait(bell, 0, 0, 1);
    const at = performance.timeOrigin + performance.now();
    if (at - last > 1 + lateMs && gaps.length < 100_000) gaps.push([last, at - last]);
    last = at;
  }
  last = performance.timeOrigin + performance.now();
  setImmediate(look);
}

parentPort!.once("message", () => {
  parentPort!.postMessage(gaps);
  process.exit(0);
});
look();
