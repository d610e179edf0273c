// The least an open-loop client can be: no records, no ledger, no classes. What the load generator's lag is held against.
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { randomStream } from "../dist/base/index.js";

const { port, rate, seconds, connections, request } = workerData;
const bytes = Buffer.from(request);
const idle = [];
const lags = [];
const open = () =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.on("data", () => idle.push(socket));
  });
for (let i = 0; i < connections; i++) idle.push(await open());
const n = rate * seconds;
const stream = randomStream("bare", "arrivals");
const gaps = Float64Array.from({ length: n }, () => (stream.exponential() * 1000) / rate);
const start = performance.now() + 5;
let [at, due] = [0, start];
const step = () => {
  const now = performance.now();
  for (let burst = 0; at < n && due <= now && burst < 64; burst++) {
    lags.push(performance.now() - due);
    idle.shift()?.write(bytes);
    due += gaps[at++];
  }
  if (at < n) setImmediate(step);
  else {
    const sorted = Float64Array.from(lags).sort();
    parentPort.postMessage(sorted[Math.floor(0.99 * sorted.length)]);
    process.exit(0);
  }
};
setImmediate(step);
