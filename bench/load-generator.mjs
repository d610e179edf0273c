// The load generator against a raw server: send lag in an open loop beside a bare sender, throughput in a closed loop beside wrk.
import { execFileSync, fork } from "node:child_process";
import { Worker } from "node:worker_threads";
import { runLoad, summarise } from "../dist/load/index.js";
import { figure, median, place, ratios } from "./place.mjs";

const rate = 20_000;
const rounds = 7;
const request = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
const server = fork(new URL("raw-server.mjs", import.meta.url), [String(request.byteLength)]);
const port = await new Promise((resolve) => server.once("message", resolve));
const plan = {
  speech: { protocol: "oip", outputs: null },
  host: "127.0.0.1",
  port,
  requests: [request],
  order: "shuffled",
  warmUpMs: 1000,
  timeoutMs: 5000,
  cap: { connections: 64, policy: "queue" },
  seed: "1",
};
const bare = () =>
  new Promise((resolve) =>
    new Worker(new URL("bare-sender.mjs", import.meta.url), {
      workerData: { port, rate, seconds: 3, connections: 64, request: request.toString() },
    }).once("message", resolve),
  );
const ours = async () => {
  const { table, context } = await runLoad({
    ...plan,
    mode: { kind: "open", arrival: { kind: "poisson" }, ratePerSecond: rate, durationMs: 2000 },
  });
  return summarise(table, context, { latencyLimitMs: null });
};
const lags = [];
const achieved = [];
for (let round = 0; round < rounds; round++) {
  const order = round % 2 === 0;
  const first = order ? await bare() : await ours();
  const second = order ? await ours() : await bare();
  const [own, its] = order ? [second, first] : [first, second];
  lags.push([own.lagP99Ms, its]);
  achieved.push(own.achievedPerSecond);
}
const closed = [];
let wrk = null;
try {
  wrk = execFileSync("which", ["wrk"], { encoding: "utf8" }).trim();
} catch {
  // Said in the table.
}
const path = `http://127.0.0.1:${port}/`;
// wrk's request is longer than ours: a server of its own that counts its bytes.
const wrkRequest = Buffer.from(`GET / HTTP/1.1\r\nHost: 127.0.0.1:00000\r\n\r\n`);
const wrkServer = fork(new URL("raw-server.mjs", import.meta.url), [String(wrkRequest.byteLength)]);
const wrkPort = await new Promise((resolve) => wrkServer.once("message", resolve));
for (let round = 0; wrk && round < rounds; round++) {
  const own = async () => {
    const { table } = await runLoad({ ...plan, mode: { kind: "closed", concurrency: 32, durationMs: 2000 } });
    return table.length / 2;
  };
  const its = () =>
    Number(
      /Requests\/sec:\s+([\d.]+)/.exec(
        execFileSync(wrk, ["-t1", "-c32", "-d2s", path.replace(String(port), String(wrkPort))], { encoding: "utf8" }),
      )[1],
    );
  const order = round % 2 === 0;
  const first = order ? await own() : its();
  const second = order ? its() : await own();
  closed.push(order ? [first, second] : [second, first]);
}
server.disconnect();
wrkServer.disconnect();
const column = (pairs, k) => figure(median(pairs.map((pair) => pair[k])));
console.log(`# Load generator

${place("node bench/load-generator.mjs")}

| what | ours | beside it | ratio: median (range), ${rounds} pairs | goal |
|---|---|---|---|---|
| open loop, ${rate} requests/s: send lag p99, ms | ${column(lags, 0)} (achieved ${figure(median(achieved))}/s) | bare sender ${column(lags, 1)} | ${ratios(lags)} | ≤ 1.5 |
| closed loop, 32 connections, requests/s | ${closed.length > 0 ? column(closed, 0) : "–"} | ${closed.length > 0 ? `wrk, one thread ${column(closed, 1)}` : "wrk is absent"} | ${closed.length > 0 ? ratios(closed) : "–"} | ≥ 0.75 |
`);
process.exit(0);
