// The embedded model server beside Triton (Python backend, CPU wheel, same ONNX Runtime version): the digits CNN, one client for both.
import { execFileSync, spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readModelHeader } from "../dist/artifact/index.js";
import { onnxruntimeStack } from "../dist/build/onnxruntime/index.js";
import { encodeInfer, runLoad, summarise } from "../dist/load/index.js";
import { startServer } from "../dist/serving/index.js";
import { defaultServing, defaultSession } from "../dist/workload/index.js";
import { figure, median, place, ratios } from "./place.mjs";

const rounds = 7;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const cache = process.env.ASSAY_PEERS_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "assay", "peers");
const model = here("../examples/digits/models/cnn.onnx");
const home = execFileSync("bash", [here("../test/peers/install-triton.sh"), join(cache, "triton"), onnxruntimeStack().version], {
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .at(-1);
const triton = { host: "127.0.0.1", port: 19_000 + (process.pid % 1000) };
const server = spawn("bash", [here("../test/peers/start-triton.sh"), home, model, String(triton.port)], { stdio: "ignore" });
const ready = async () => (await fetch(`http://127.0.0.1:${triton.port}/v2/models/digits/ready`).catch(() => null))?.status === 200;
for (let i = 0; i < 120 && !(await ready()); i++) await new Promise((resolve) => setTimeout(resolve, 500));
const { inputs, outputs } = await readModelHeader(model);
const ours = await startServer({
  model: { name: "digits", path: model, inputs, outputs },
  session: defaultSession(1),
  serving: defaultServing,
});

const image = (k) => ({
  datatype: "FP32",
  shape: [1, 1, 28, 28],
  data: Float32Array.from({ length: 784 }, (_, i) => ((i * (k + 3)) % 13 < 3 ? Math.fround(((i * k) % 255) / 255) : 0)),
});
const measure = async ({ host, port }, binary, concurrency) => {
  const requests = Array.from({ length: 64 }, (_, k) =>
    encodeInfer({ host, port, model: "digits", inputs: [{ name: "x", tensor: image(k) }], outputs: ["logits"], binary }),
  );
  const durationMs = 1500;
  const { table, context } = await runLoad({
    speech: { protocol: "oip", outputs: ["logits"] },
    host,
    port,
    requests,
    order: "shuffled",
    mode: { kind: "closed", concurrency, durationMs },
    warmUpMs: 500,
    timeoutMs: 5000,
    cap: { connections: 64, policy: "queue" },
    seed: "1",
  });
  const { latencyMs, ledger, scheduled } = summarise(table, context, { latencyLimitMs: null });
  if (ledger.good !== scheduled) throw new Error(`not every answer was good: ${JSON.stringify(ledger)}`);
  return { rate: scheduled / (durationMs / 1000), p50: latencyMs[latencyMs.length >> 1] };
};
const rows = [
  ["JSON, 16 connections, requests/s", false, 16, "rate", "≥ 3"],
  ["binary, 16 connections, requests/s", true, 16, "rate", "≥ 2.5"],
  ["JSON, one connection, p50 ms", false, 1, "p50", "≤ 0.6"],
  ["binary, one connection, p50 ms", true, 1, "p50", "≤ 0.6"],
];
const lines = [];
for (const [name, binary, concurrency, what, goal] of rows) {
  const pairs = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [ours, triton] : [triton, ours];
    const found = [];
    for (const target of order) found.push((await measure(target, binary, concurrency))[what]);
    pairs.push(round % 2 === 0 ? found : found.reverse());
  }
  const column = (k) => figure(median(pairs.map((pair) => pair[k])));
  lines.push(`| ${name} | ${column(0)} | ${column(1)} | ${ratios(pairs)} | ${goal} |`);
}
server.kill("SIGTERM");
await ours.close();
console.log(`# Model server

${place("node bench/model-server.mjs")}

| digits CNN | ours | Triton 2.51 | ratio: median (range), ${rounds} pairs | goal |
|---|---|---|---|---|
${lines.join("\n")}

Triton runs the model in its Python backend (the CPU wheel has no other), with the same version of ONNX Runtime. Client and servers share the machine's cores.
`);
process.exit(0);
