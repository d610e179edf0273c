/**
 * Ends this process soon after its parent is gone, also while the main thread sits in a native call:
 * a thread asks twice a second who the parent is, and kills the process when the answer changes.
 */
import { Worker } from "node:worker_threads";

const watcher = `
const { workerData } = require("node:worker_threads");
setInterval(() => { if (process.ppid !== workerData) process.kill(process.pid, "SIGKILL"); }, 500);
`;

/** Starts the watch. The thread does not keep the process alive. */
export function dieWithParent(parentPid: number = process.ppid): void {
  new Worker(watcher, { eval: true, workerData: parentPid, stdout: false, stderr: false }).unref();
}
