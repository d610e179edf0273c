// Our servers and clients against others' real ones. Each peer is installed by its script into a cache
// folder outside the clone; one that cannot be had is skipped, with its reason, and counted.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOnnxSession, readModelHeader } from "../../dist/artifact/index.js";
import { onnxruntimeStack } from "../../dist/build/onnxruntime/index.js";
import { encodeInfer, decodeInfer, runLoad, summarise } from "../../dist/load/index.js";
import { startServer } from "../../dist/serving/index.js";
import { defaultServing, defaultSession } from "../../dist/workload/index.js";
import { endpointChecks, tritonBench, tritonBenchChecks } from "./endpoints.mjs";
import { check, close, counts, equal, freePort, here, peer, run, withServer } from "./harness.mjs";
import { modelChecks } from "./models.mjs";

const model = here("../../examples/digits/models/cnn.onnx");

const { inputs, outputs } = await readModelHeader(model);
const ours = await startServer({
  model: { name: "digits", path: model, inputs, outputs },
  session: defaultSession(1),
  serving: defaultServing,
});
const image = { datatype: "FP32", shape: [1, 1, 28, 28], data: Float32Array.from({ length: 784 }, (_, i) => Math.fround((i % 7) / 10)) };
const session = await openOnnxSession(model, defaultSession(1), ["logits"]);
const logits = [...(await session.run(new Map([["x", image]]))).get("logits").data];
const request = (to) => encodeInfer({ ...to, model: "digits", inputs: [{ name: "x", tensor: image }], outputs: ["logits"], binary: true });
const load = ({ host, port }, keepBodies = false) =>
  runLoad({
    speech: { protocol: "oip", outputs: ["logits"] },
    host,
    port,
    requests: [request({ host, port })],
    order: "shuffled",
    mode: { kind: "closed", concurrency: 4, durationMs: 500 },
    warmUpMs: 0,
    timeoutMs: 5000,
    cap: { connections: 16, policy: "queue" },
    seed: "1",
    keepBodies,
  });

const python = await peer("tritonclient", 5, []);
async function client(address) {
  const { stdout } = await run(python, [here("client.py"), address, "digits"], { timeout: 60_000 });
  return JSON.parse(stdout);
}
if (python) {
  let said = {};
  await check("tritonclient finds our server live and ready", async () => {
    said = await client(`${ours.host}:${ours.port}`);
    equal([said.live, said.ready, said.id], [true, true, "r1"], "live, ready, id");
  });
  await check("tritonclient reads our metadata", () =>
    equal(said.metadata.inputs, [{ name: "x", datatype: "FP32", shape: [-1, 1, 28, 28] }], "inputs"),
  );
  await check("tritonclient gets our binary answer, as in process", () => close(said.binary[0], logits, "binary"));
  await check("tritonclient gets our JSON answer, as in process", () => close(said.json[0], logits, "json"));
  await check("tritonclient raises on our refusals, with what was wrong", () => {
    equal([said.unknownModel.status, said.unknownInput.status], ["404", "400"], "status");
    if (!said.unknownInput.message.includes("nope")) throw new Error(said.unknownInput.message);
  });
}

const wrk = await peer("wrk", 1, []);
if (wrk) {
  await check("wrk gets nothing but answers from our server", async () => {
    const folder = mkdtempSync(join(tmpdir(), "assay-wrk-"));
    const script = join(folder, "post.lua");
    const body = JSON.stringify({
      inputs: [{ name: "x", shape: [1, 1, 28, 28], datatype: "FP32", data: [...image.data].map((value) => Number(value.toPrecision(3))) }],
    });
    writeFileSync(script, `wrk.method = "POST"\nwrk.body = [[${body}]]\nwrk.headers["Content-Type"] = "application/json"\n`);
    const { stdout } = await run(wrk, ["-t1", "-c16", "-d2s", "-s", script, `${ours.url}/v2/models/digits/infer`]);
    rmSync(folder, { recursive: true });
    if (/Non-2xx|Socket errors/.test(stdout) || !(Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]) > 100)) throw new Error(stdout);
  });
}

const tritonChecks = 3 + tritonBenchChecks;
const home = await peer("triton", tritonChecks, [onnxruntimeStack().version]);
if (home) {
  const triton = { host: "127.0.0.1", port: freePort() };
  await withServer("triton", tritonChecks, { home, model, port: triton.port, ready: "/v2/models/digits/ready" }, async () => {
    await check("our load generator gets good answers from Triton", async () => {
      const { table, context, bodies } = await load(triton, true);
      const { ledger, scheduled } = summarise(table, context, { latencyLimitMs: null });
      equal(ledger.good, scheduled, "good answers");
      close([...decodeInfer(bodies[0].headerBytes, bodies[0].body).get("logits").data], logits, "Triton's answer");
    });
    await check("our server and Triton give the same answer to the same bytes", async () => {
      const [a, b] = [(await load(ours, true)).bodies[0], (await load(triton, true)).bodies[0]];
      close(
        [...decodeInfer(a.headerBytes, a.body).get("logits").data],
        [...decodeInfer(b.headerBytes, b.body).get("logits").data],
        "answers",
      );
    });
    await check("our server refuses what Triton refuses", async () => {
      const post = async ({ host, port }, body) =>
        (await fetch(`http://${host}:${port}/v2/models/digits/infer`, { method: "POST", body })).status;
      const input = { name: "x", shape: [1, 1, 28, 28], datatype: "FP32", data: [...image.data] };
      for (const body of [
        '{"inputs":[',
        JSON.stringify({ inputs: [{ ...input, name: "y" }] }),
        JSON.stringify({ inputs: [{ ...input, data: [1] }] }),
        JSON.stringify({ inputs: [input], outputs: [{ name: "nope" }] }),
      ]) {
        const [own, its] = [await post(ours, body), await post(triton, body)];
        if (own !== 400 || its < 400) throw new Error(`${body.slice(0, 60)}: ours ${own}, Triton ${its}`);
      }
    });
    await tritonBench(triton);
  });
}
await session.close();
await ours.close();

const models = await peer("models", 3, []);
if (models) for (const [name, work] of Object.entries(modelChecks(models))) await check(name, work);
await endpointChecks();
const { passed, failed, skipped } = counts;
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed > 0 ? 1 : 0);
