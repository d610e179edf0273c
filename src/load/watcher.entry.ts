/** The second witness of host stalls: a thread that sleeps five milliseconds at a time and notes when it is woken late. */
import { parentPort } from "node:worker_threads";

/** Lateness that counts, milliseconds. A sleeper is woken late by a busy machine too, so it must be more than the sender's own. */
const lateMs = 2;
/** Often enough to see such stalls, seldom enough not to disturb the sender. */
const sleepMs = 5;
const bell = new Int32Array(new SharedArrayBuffer(4));
const gaps: [number, number][] = [];
let last = performance.timeOrigin + performance.now();

function look(): void {
  for (let i = 0; i < 50; i++) {
    Atomics.wait(bell, 0, 0, sleepMs);
    const at = performance.timeOrigin + performance.now();
    if (at - last > sleepMs + lateMs && gaps.length < 100_000) gaps.push([last, at - last]);
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
