/** `assay bench`, `report` and `verify` as a user runs them, against scripted servers. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { readModelHeader } from "../src/artifact/index.ts";
import { startServer } from "../src/serving/index.ts";
import { defaultServing, defaultSession } from "../src/workload/index.ts";
import { parseTruthScript, startTruthServer } from "../src/truth/index.ts";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "assay-bench-"));
  closers.push(() => rmSync(made, { recursive: true, force: true }));
  return join(made, "run");
};
async function server(script: string): Promise<string> {
  const made = await startTruthServer(parseTruthScript(script), { host: "127.0.0.1", port: 0 });
  closers.push(() => made.close());
  return made.url;
}
const assay = (args: readonly string[], env: Record<string, string> = {}) =>
  new Promise<{ status: number; out: string; err: string }>((resolve) =>
    execFile(process.execPath, [main, ...args], { env: { ...process.env, ...env }, encoding: "utf8" }, (fault, out, err) =>
      resolve({ status: fault ? Number(fault.code ?? 1) : 0, out, err }),
    ),
  );
const quick =
  "answers: [{ frames: [{ at: 10, content: a, times: 4, everyMs: 2 }, { at: 16, finish: stop }, { at: 16, usage: { prompt: 40, completion: 4 } }, { at: 16, done: true }] }]";
const short = ["--model", "m", "--rate", "50", "--duration", "2s", "--warm-up", "200ms"];

describe("assay bench", () => {
  it("measures, judges the targets, and leaves a run that report draws and verify checks", async () => {
    const [url, out] = [await server(quick), folder()];
    const run = await assay(["bench", "openai", url, ...short, "--target", "ttft.p90=1s", "tpot.p90=200ms", "--out", out]);
    expect(run.err).not.toMatch(/assay:/);
    expect(run.status).toBe(0);
    expect(run.out).toMatch(/time to first token \(ttft\)/);
    expect(run.out).toMatch(/pass {2}ttft\.p90 ≤ 1 000: at most [\d.]+ at 99 % confidence/);
    expect(run.out).toMatch(/Requests: \d+ good/);
    const again = await assay(["report", out]);
    expect(again.out.split("\n").slice(0, 20)).toEqual(run.out.split("\n").slice(0, 20));
    expect((await assay(["verify", out])).out).toMatch(/The records give the stored figures\. \d+ requests checked/);
    const records = join(out, "records", readdirSync(join(out, "records"))[0]!);
    const bytes = readFileSync(records);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(records, bytes);
    expect(await assay(["verify", out])).toMatchObject({ status: 3 });
  });

  it("exits 3 where a target is missed, and 4 where the requests are too few to tell", async () => {
    const url = await server(quick);
    const missed = await assay(["bench", "openai", url, ...short, "--target", "ttft.p50=1ms", "--out", folder()]);
    // On a host with stalls it may only say that it cannot tell.
    expect([3, 4]).toContain(missed.status);
    expect(missed.out).toMatch(/(FAIL|open) {2}ttft\.p50 ≤ 1: /);
    const open = await assay(["bench", "openai", url, ...short, "--target", "ttft.p99.9=1s", "--out", folder()]);
    expect(open.status).toBe(4);
    expect(open.out).toMatch(/open {2}ttft\.p99\.9 ≤ 1 000: \d+ requests; 6636 are needed/);
  });

  it("never writes the key anywhere", async () => {
    const [url, out] = [await server(quick), folder()];
    const run = await assay(["bench", "openai", url, ...short, "--key-env", "MY_KEY", "--out", out], { MY_KEY: "very-secret-key" });
    expect(run.status).toBe(0);
    const texts = [
      run.out,
      run.err,
      ...readdirSync(out)
        .filter((name) => name.endsWith("l"))
        .map((name) => readFileSync(join(out, name), "utf8")),
    ];
    for (const text of texts) expect(text).not.toContain("very-secret-key");
  });

  it("says what came back where not one request is answered", async () => {
    const url = await server("answers: [{ status: 401 }]");
    const run = await assay(["bench", "openai", url, ...short, "--out", folder()]);
    expect(run.status).toBe(2);
    expect(run.err).toMatch(/ENDPOINT_REFUSES[^]*http_error: HTTP 401: .*scripted 401/);
    const nobody = await assay(["bench", "openai", "http://127.0.0.1:9/v1", ...short, "--out", folder()]);
    expect(nobody.status).toBe(2);
    expect(nobody.err).toMatch(/connect_error/);
  });

  it.each([
    [["--rate", "5", "--concurrency", "2"], /either --rate or --concurrency/],
    [["--rate", "-1"], /--rate -1: expected a number/],
    [["--rate", "5", "--target", "ttft=1s"], /--target ttft=1s: expected <metric>\.p<percentile>/],
    [["--rate", "5", "--target", "ttfx.p99=1s"], /metrics are ttft, /],
    [["--rate", "5", "--arrival", "often"], /expected constant, poisson or gamma/],
    [["--rate", "5", "--body", "[1]"], /--body \[1\]: expected a JSON object/],
    [["--rate", "5", "--key-env", "NOT_SET_ANYWHERE"], /the variable is not set/],
  ])("refuses %j", async (args, message) => {
    const { status, err } = await assay(["bench", "openai", "http://127.0.0.1:9/v1", "--model", "m", ...args]);
    expect(status).toBe(2);
    expect(err).toMatch(message);
  });

  it("shows and keeps what was measured before Ctrl-C", async () => {
    const [url, out] = [await server(quick), folder()];
    const child = spawn(process.execPath, [
      main,
      "bench",
      "openai",
      url,
      "--model",
      "m",
      "--rate",
      "50",
      "--duration",
      "60s",
      "--warm-up",
      "100ms",
      "--out",
      out,
    ]);
    let text = "";
    child.stdout.on("data", (piece: Buffer) => (text += String(piece)));
    child.stderr.on("data", (piece: Buffer) => {
      if (String(piece).includes("Measuring")) setTimeout(() => child.kill("SIGINT"), 1500);
    });
    const status = await new Promise((resolve) => child.once("exit", resolve));
    expect(status).toBe(130);
    expect(text).toMatch(/stopped after [\d.]+ s/);
    expect((await assay(["verify", out])).status).toBe(0);
  });
});

interface Measured {
  run: { ledger: Record<string, number> };
  server: { counts: { what: string; value: number }[] };
  context: { warmUp: { good: number } };
}

describe("assay bench, wider", () => {
  const models = fileURLToPath(new URL("../examples/digits/models/", import.meta.url));
  async function modelServer(name: string): Promise<string> {
    const path = `${models}${name}.onnx`;
    const { inputs, outputs } = await readModelHeader(path);
    const made = await startServer({
      model: { name, path, inputs, outputs },
      session: defaultSession(1),
      serving: defaultServing,
    });
    closers.push(() => made.close());
    return `http://${made.host}:${made.port}`;
  }
  const load = ["--rate", "40", "--duration", "2s", "--warm-up", "200ms"];
  const json = (text: string): { visits: { run: { ledger: Record<string, number> } }[]; conclusion: Record<string, unknown> } =>
    JSON.parse(text) as never;

  it("sends tensors out of a file and drawn ones, as bytes and as JSON", async () => {
    const [url, out] = [await modelServer("mlp"), folder()];
    const data = join(out, "..", "items.jsonl");
    writeFileSync(data, [1, 2, 3, 4].map((k) => JSON.stringify({ x: Array.from({ length: 784 }, (_, i) => (i % k) / 4) })).join("\n"));
    for (const more of [["--data", data], ["--data", data, "--json-tensors", "--items", "3"], []]) {
      const { status, out, err } = await assay(["bench", "oip", url, "--model", "mlp", ...load, ...more, "--json", "--out", folder()]);
      expect(err).not.toMatch(/assay:/);
      expect(status).toBe(0);
      const [visit] = json(out).visits as unknown as Measured[];
      const { ledger } = visit!.run;
      expect(ledger["good"]).toBeGreaterThan(40);
      // The server's own counters, found beside it, agree with the client's.
      const answered = visit!.server.counts.find(({ what }) => what === "answered")!.value;
      expect(answered).toBe(ledger["good"]! + visit!.context.warmUp.good);
      expect(Object.values(ledger).reduce((sum, count) => sum + count, 0)).toBe(ledger["good"]);
    }
    const unknown = await assay(["bench", "oip", url, "--model", "none", ...load, "--out", folder()]);
    expect(unknown).toMatchObject({ status: 2, err: expect.stringMatching(/ENDPOINT_REFUSES[^]*none/) as string });
  });

  it("brackets the capacity of a server, and the run verifies", async () => {
    const [url, out] = [
      await server("answers: [{ frames: [{ at: 20, content: a }, { at: 20, finish: stop }, { at: 20, done: true }] }]"),
      folder(),
    ];
    // The server answers after 20 ms at any rate: no rate keeps 10 ms.
    const none = await assay([
      "bench",
      "openai",
      url,
      "--model",
      "m",
      "--find-capacity",
      "--rate",
      "50",
      "--duration",
      "600ms",
      "--warm-up",
      "100ms",
      "--target",
      "e2e.p50=10ms",
      "--out",
      out,
    ]);
    expect([3, 4]).toContain(none.status);
    expect(none.out).toMatch(/no rate/i);
    expect((await assay(["verify", out])).status).toBe(0);
  });

  it("sweeps rates, each a visit, and shows them by rate", async () => {
    const [url, out] = [await modelServer("mlp"), folder()];
    const run = await assay([
      "bench",
      "oip",
      url,
      "--model",
      "mlp",
      "--sweep",
      "20,60",
      "--duration",
      "1500ms",
      "--warm-up",
      "100ms",
      "--out",
      out,
    ]);
    expect([0, 4]).toContain(run.status);
    expect(run.out).toMatch(/\n20 .*\n60 /);
    expect((await assay(["report", out])).out).toMatch(/\n20 .*\n60 /);
  });

  it("sets one endpoint against another in pairs", async () => {
    const slow = (ms: number): string =>
      `answers: [{ frames: [{ at: ${ms}, content: a }, { at: ${ms}, finish: stop }, { at: ${ms}, done: true }] }]`;
    const [first, second, out] = [await server(slow(30)), await server(slow(15)), folder()];
    const run = await assay([
      "bench",
      "openai",
      first,
      "--model",
      "m",
      "--rate",
      "40",
      "--against",
      second,
      "--pairs",
      "6",
      "--duration",
      "1s",
      "--warm-up",
      "100ms",
      "--target",
      "e2e.p50=1s",
      "--json",
      "--out",
      out,
    ]);
    expect(run.status).toBe(0);
    const { conclusion, visits } = json(run.out);
    expect(visits.length).toBeGreaterThanOrEqual(10);
    expect(conclusion).toMatchObject({ differences: [{ what: "e2e.p50", answer: "better" }] });
    const [{ ratio }] = conclusion["differences"] as [{ ratio: { low: number; high: number } }];
    expect(ratio.low).toBeGreaterThan(0.4);
    expect(ratio.high).toBeLessThan(0.65);
    expect((await assay(["verify", out])).status).toBe(0);
  });

  it("replays a trace at its own times, scaled, and keeps which one it was", async () => {
    const [url, out] = [await server(quick), folder()];
    const trace = join(out, "..", "trace.jsonl");
    writeFileSync(
      trace,
      Array.from({ length: 40 }, (_, k) => JSON.stringify({ timestamp: 100 * k, input_length: 64, output_length: 4, hash_ids: [k] })).join(
        "\n",
      ),
    );
    const run = await assay(["bench", "openai", url, "--model", "m", "--trace", trace, "--speed", "4", "--json", "--out", out]);
    expect(run.err).not.toMatch(/assay:/);
    const { visits } = json(run.out);
    expect(visits[0]).toMatchObject({ load: { format: "mooncake", requests: 40, speed: 4 }, run: { ledger: { good: 40 } } });
    // 39 gaps of 25 ms.
    expect((visits[0] as unknown as { run: { achievedPerSecond: number } }).run.achievedPerSecond).toBeCloseTo(40, 0);
  });

  it("calls any HTTP by a template, and good is what keeps its checks", async () => {
    const [url, out] = [await modelServer("mlp"), folder()];
    const template = join(out, "..", "template.yaml");
    const write = (least: number): void =>
      writeFileSync(
        template,
        `url: ${url}/v2/models/mlp\nmethod: GET\nchecks:\n  - { path: "$.name", equals: mlp }\n  - { path: "$.inputs[0].shape[-1]", least: ${least} }\n`,
      );
    write(1);
    const good = await assay(["bench", "http", template, ...load, "--json", "--out", out]);
    expect(good.err).not.toMatch(/assay:/);
    expect(good.status).toBe(0);
    write(1000);
    const bad = await assay(["bench", "http", template, ...load, "--out", folder()]);
    expect(bad).toMatchObject({ status: 2, err: expect.stringMatching(/a check fails: \$\.inputs\[0\]\.shape\[-1\] is 784/) as string });
  });

  it.each([
    [["oip", "http://127.0.0.1:9", "--model", "m", "--rate", "5", "--input", "3"], /--input does not go with oip/],
    [["openai", "http://127.0.0.1:9", "--model", "m", "--rate", "5", "--data", "x"], /--data does not go with openai/],
    [["openai", "http://127.0.0.1:9", "--model", "m", "--rate", "5", "--pairs", "3"], /--pairs goes with --against/],
    [["openai", "http://127.0.0.1:9", "--model", "m", "--rate", "5", "--speed", "3"], /--speed goes with --trace/],
    [["openai", "http://127.0.0.1:9", "--model", "m", "--find-capacity"], /--find-capacity needs a --target/],
    [["openai", "http://127.0.0.1:9", "--model", "m", "--ramp", "1,2,3"], /expected two rates/],
    [["openai", "http://127.0.0.1:9", "--rate", "5"], /--model is missing/],
    [["smtp", "http://127.0.0.1:9", "--rate", "5"], /smtp: known protocols are openai/],
    [["http", "/nowhere.yaml", "--rate", "5"], /the template cannot be read/],
  ])("refuses %j", async (args, message) => {
    const { status, err } = await assay(["bench", ...args]);
    expect(status).toBe(2);
    expect(err).toMatch(message);
  });
});

describe("the run's folder", () => {
  it("has a report, leaves for other tools, and is compared with another", async () => {
    const [url, first, second] = [await server(quick), folder(), folder()];
    const files = ["junit", "markdown"].flatMap((name) => [`--${name}`, join(first, "..", name)]);
    const gate = ["--target", "ttft.p50=1ms", "--fail-on", "missed"];
    const run = await assay(["bench", "openai", url, ...short, ...gate, ...files, "--out", first]);
    // Host stalls may have hidden the miss.
    expect([5, 0]).toContain(run.status);
    expect(run.status === 5).toBe(run.out.includes("FAIL  ttft"));
    expect(readFileSync(join(first, "..", "junit"), "utf8")).toMatch(/<testsuite name="assay bench"/);
    expect(readFileSync(join(first, "..", "markdown"), "utf8")).toMatch(/\| time to first token \(ttft\) \| ms \|/);
    const page = readFileSync(join(first, "report.html"), "utf8");
    expect(page).toMatch(/<h1>TTFT p50/);
    rmSync(join(first, "report.html"));
    await assay(["report", first]);
    expect(readFileSync(join(first, "report.html"), "utf8")).toBe(page);
    const csv = await assay(["export", first, "--format", "csv"]);
    expect(csv).toMatchObject({ status: 0, out: expect.stringMatching(/^visit,endpoint,/) as string });
    expect(await assay(["export", first, "--format", "pdf"])).toMatchObject({
      status: 2,
      err: expect.stringMatching(/the formats are csv/) as string,
    });
    await assay(["bench", "openai", url, ...short, "--out", second]);
    const compared = await assay(["compare", first, second]);
    expect(compared.status).toBe(4);
    expect(compared.out).toMatch(/ttft\.p50 \(ms\) +cannot tell yet .*about 4 more runs of each would tell/);
    expect((await assay(["compare", first])).err).toMatch(/1 runs are given: name two/);
  });
});

describe("assay truth-server", () => {
  it("answers by its script and says at its end how late its own writes were", async () => {
    const script = fileURLToPath(new URL("../examples/truth/chat.yaml", import.meta.url));
    const child = spawn(process.execPath, [main, "truth-server", script, "--port", "0"]);
    let text = "";
    await new Promise<void>((resolve) =>
      child.stdout.on("data", (piece: Buffer) => {
        text += String(piece);
        if (text.includes("http://")) resolve();
      }),
    );
    const url = /http:\S+/.exec(text)![0];
    const answer = await (await fetch(`${url}/chat/completions`, { method: "POST", body: "{}" })).text();
    expect(answer.match(/"content":" word"/g)).toHaveLength(64);
    child.kill("SIGINT");
    await new Promise((resolve) => child.once("close", resolve));
    expect(text).toMatch(/1 requests, 66 writes; late by p50 [\d.e-]+ ms/);
    expect((await assay(["truth-server", "/nowhere.yaml"])).err).toMatch(/TRUTH_SCRIPT_INVALID/);
  });
});
