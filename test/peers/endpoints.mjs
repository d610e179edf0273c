// `assay bench` as a user runs it against other servers, and their own counters against what it says.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, equal, freePort, here, peer, run, withServer, within } from "./harness.mjs";

const main = here("../../dist/main.js");

/** The document of a bench run; its folder is verified and thrown away. */
async function bench(...args) {
  const folder = mkdtempSync(join(tmpdir(), "assay-peers-"));
  const out = join(folder, "run");
  try {
    const { stdout } = await run(process.execPath, [main, "bench", ...args, "--json", "--out", out], { maxBuffer: 1e8 }).catch((fault) => {
      // 4: it cannot tell yet, or host stalls made it invalid; the document tells.
      if (fault.code === 4 && fault.stdout) return fault;
      throw new Error(`exit ${fault.code}: ${fault.stderr.trim().split("\n").slice(-3).join(" ")}`);
    });
    await run(process.execPath, [main, "verify", out]);
    return JSON.parse(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const refusal = (...args) =>
  bench(...args).then(
    () => {
      throw new Error("it was measured");
    },
    (fault) => fault.message,
  );
const allGood = ({ run: { ledger } }) => {
  const others = Object.entries(ledger).filter(([outcome, count]) => outcome !== "good" && count > 0);
  if (others.length > 0 || ledger.good === 0) throw new Error(JSON.stringify(ledger));
  return ledger.good;
};
const p50 = ({ figures }, tag) => figures.metrics.find((metric) => metric.tag === tag)?.percentiles[0].value ?? null;
const told = ({ server }, what) => server?.counts.find((count) => count.what === what)?.value ?? null;

async function llamaCpp() {
  const checks = 4;
  const home = await peer("llama-cpp", checks);
  if (!home) return;
  const port = freePort();
  const url = `http://127.0.0.1:${port}/v1`;
  const asked = ["--model", "moby", "--input", "60", "--output", "24", "--warm-up", "500ms", "--duration", "3s"];
  await withServer("llama-cpp", checks, { home, model: here("../../examples/moby/moby.gguf"), port, ready: "/v1/models" }, async () => {
    await check("assay bench: chat of llama.cpp, streamed: every answer has its tokens, though it tells no usage", async () => {
      const [visit] = (await bench("openai", url, ...asked, "--rate", "4")).visits;
      allGood(visit);
      equal(p50(visit, "output"), 24, "output tokens");
      within(p50(visit, "tpot") * 23, [1, p50(visit, "e2e")], "time of the tokens behind the first");
      within(p50(visit, "ttft"), [0.5, p50(visit, "e2e")], "TTFT");
    });
    await check("assay bench: completions of llama.cpp, whole: prompts are as long as asked, by its count", async () => {
      const [visit] = (await bench("openai", url, ...asked, "--api", "completions", "--no-stream", "--concurrency", "2")).visits;
      allGood(visit);
      equal(p50(visit, "output"), 24, "output tokens");
      within(p50(visit, "input"), [54, 66], "prompt tokens");
    });
    await check("assay bench: a prompt that is too long for llama.cpp is no success, though it says 200", async () => {
      const said = await refusal("openai", url, "--model", "moby", "--rate", "1", "--input", "2000");
      if (!/ENDPOINT_REFUSES/.test(said)) throw new Error(said);
    });
    await check("assay bench: two visits of the same llama.cpp in turns are not told apart by more than their noise", async () => {
      const { conclusion } = await bench(
        "openai",
        url,
        ...asked,
        "--duration",
        "1s",
        "--concurrency",
        "1",
        "--against",
        url,
        "--pairs",
        "5",
      );
      for (const { what, ratio } of conclusion.differences) if (ratio) within(ratio.value, [0.5, 2], what);
    });
  });
}

async function mlServer() {
  const checks = 2;
  const home = await peer("mlserver", checks);
  if (!home) return;
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const asked = ["--model", "digits", "--rate", "40", "--duration", "3s", "--warm-up", "500ms"];
  await withServer(
    "mlserver",
    checks,
    { home, model: here("../../examples/digits/models/cnn.onnx"), port, ready: "/v2/models/digits/ready" },
    async () => {
      await check("assay bench: MLServer by JSON tensors, and its own counters agree", async () => {
        const [visit] = (await bench("oip", url, ...asked, "--json-tensors", "--metrics", `http://127.0.0.1:${port + 2}/metrics`)).visits;
        const good = allGood(visit);
        equal([told(visit, "answered"), told(visit, "failed")], [good + visit.context.warmUp.good, 0], "answers");
      });
      await check("assay bench: MLServer takes no bytes, and the refusal says what to add", async () => {
        const said = await refusal("oip", url, ...asked);
        if (!/add --json-tensors/.test(said)) throw new Error(said);
      });
    },
  );
}

/** Checks against a Triton that runs already. */
export async function tritonBench({ host, port }) {
  const url = `http://${host}:${port}`;
  const data = ["--model", "digits", "--warm-up", "500ms"];
  await check("assay bench: Triton by bytes, and its own counters agree", async () => {
    const [visit] = (
      await bench("oip", url, ...data, "--rate", "50", "--duration", "3s", "--metrics", `http://${host}:${port + 2}/metrics`)
    ).visits;
    const good = allGood(visit);
    equal([told(visit, "answered"), told(visit, "failed")], [good + visit.context.warmUp.good, 0], "answers");
    const compute = visit.server.times.find(({ what }) => what === "compute").meanMs;
    within(compute, [0.01, visit.figures.metrics.find(({ tag }) => tag === "e2e").mean], "compute");
  });
  await check("assay bench: a capacity of Triton is found below what a closed loop reaches, or the generator says so", async () => {
    const { conclusion } = await bench(
      "oip",
      url,
      ...data,
      "--find-capacity",
      "--rate",
      "50",
      "--duration",
      "1s",
      "--target",
      "e2e.p90=50ms",
    );
    const { lowPerSecond, highPerSecond } = conclusion.capacity;
    if (!(lowPerSecond >= 50 && (highPerSecond === null || highPerSecond > lowPerSecond)))
      throw new Error(JSON.stringify(conclusion.capacity));
  });
}
export const tritonBenchChecks = 2;

export async function endpointChecks() {
  await llamaCpp();
  await mlServer();
}
