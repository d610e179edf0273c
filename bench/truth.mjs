// The load generator against scripted times: how far off its figures are, what it can take, beside the script's truth.
//   node bench/truth.mjs
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { encodePrompt, hasTokens, runLoad, summarise, summariseFigures } from "../dist/load/index.js";
import { figure, median, place } from "./place.mjs";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "assay-truth-"));

/** A truth server of its own process; says at its end how late its writes were. */
async function serve(script) {
  const path = join(work, "script.yaml");
  writeFileSync(path, script);
  const child = spawn(process.execPath, [main, "truth-server", path, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const port = Number(/:(\d+)\/v1/.exec((await lines.next()).value)[1]);
  return {
    port,
    async close() {
      child.kill("SIGINT");
      const { value } = await lines.next();
      return /late by (.*)/.exec(value)[1];
    },
  };
}

async function measure(script, mode, more = {}) {
  const server = await serve(script);
  const place_ = { host: "127.0.0.1", port: server.port, path: "/v1" };
  const { bytes, uniqueAt } = encodePrompt(
    "openai-chat",
    place_,
    null,
    { model: "m", prompt: "0000000000 a", maxTokens: 8, stream: true },
    {},
  );
  const before = process.cpuUsage();
  const began = performance.now();
  const { table, context } = await runLoad({
    speech: { protocol: "prompt", api: "openai-chat", stream: true },
    host: place_.host,
    port: server.port,
    requests: [bytes],
    uniqueAt: [uniqueAt],
    order: "shuffled",
    mode,
    warmUpMs: 2000,
    timeoutMs: 20_000,
    cap: { connections: 1024, policy: "queue" },
    seed: "1",
    ...more,
  });
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - began) / 1000;
  const late = await server.close();
  if (!hasTokens(table)) throw new Error("no tokens");
  const run = summarise(table, context, { latencyLimitMs: null });
  const tokens = summariseFigures(table, context, [], true);
  const metric = (tag) => tokens.metrics.find((one) => one.tag === tag);
  const column = (from, to) => Array.from(to, (at, row) => (at - from[row]) / 1e6);
  return { table, context, run, tokens, metric, late, cpuSeconds: (user + system) / 1e6, seconds, column };
}

const open = (ratePerSecond, durationMs, kind = "constant") => ({ kind: "open", arrival: { kind }, ratePerSecond, durationMs });
const answer = (...frames) => `answers:\n  - frames:\n${frames.map((frame) => `      - { ${frame} }`).join("\n")}\n`;
const end = (at) => [`at: ${at}, finish: stop`, `at: ${at}, done: true`];
const rows = [];
const row = (what, script, found) => {
  rows.push(`| ${what} | ${script} | ${found} |`);
  console.error(`${what}: ${found}`);
};
const quantile = (values, p) => values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * p) - 1)];

{
  const { table, column, late } = await measure(
    answer("at: 20, role: assistant", "at: 200, content: a, times: 20, everyMs: 10", ...end(390)),
    open(5, 20_000),
  );
  const errors = column(table.sentNs, table.tokens.firstTokenNs).map((ms) => ms - 200);
  const ends = column(table.sentNs, table.tokens.lastTokenNs).map((ms) => 100 * (ms / 390 - 1));
  const gaps = Array.from(table.tokens.lastTokenNs, (last, k) => (last - table.tokens.firstTokenNs[k]) / 19e6);
  row(
    "TTFT, error at 5 requests/s: median, p99",
    "0 ms",
    `${figure(median(errors))}, ${figure(quantile(errors, 0.99))} ms (the server's own lateness: ${late})`,
  );
  row("TPOT", "10 ms", `${figure(median(gaps), 5)} ms`);
  row("E2E, error", "0 %", `${figure(median(ends))} %`);
}
{
  const { metric } = await measure(
    answer("at: 100, content: two words, times: 32, everyMs: 20", "at: 720, usage: { prompt: 1, completion: 64 }", ...end(720)).replace(
      "at: 100, content: two words, times: 32",
      "at: 100, content: two words, usage: { prompt: 1, completion: 2 } }\n      - { at: 120, content: two words, times: 31",
    ),
    open(5, 4000),
  );
  row("TPOT, two tokens an event", "10 ms", `${figure(metric("tpot").mean, 4)} ms`);
}
{
  const { metric } = await measure(
    answer(
      "at: 100, reasoning: hm",
      "at: 400, reasoning: so",
      "at: 700, content: a",
      "at: 1000, content: b",
      "at: 1000, usage: { prompt: 1, completion: 4 }",
      ...end(1000),
    ),
    open(5, 4000),
  );
  row(
    "reasoning first: TTFT, TTFV, TPOT",
    "100, 700, 300 ms",
    `${["ttft", "ttfv", "tpot"].map((tag) => figure(metric(tag).mean, 4)).join(", ")} ms`,
  );
}
{
  const { metric } = await measure(
    answer("at: 20, role: assistant", "at: 500, content: a, times: 10, everyMs: 20", "at: 680, finish: stop", "at: 730, done: true"),
    open(5, 4000),
  );
  row("role at 20: TTFT, TPOT", "500, 20 ms", `${["ttft", "tpot"].map((tag) => figure(metric(tag).mean, 4)).join(", ")} ms`);
  row("stream's end at 730: E2E", "680 ms", `${figure(metric("e2e").mean, 4)} ms`);
}
{
  const { metric, run } = await measure(answer("at: 1, content: a", ...end(1)) + "freeze: { at: 3500, forMs: 2000 }\n", open(100, 6000));
  const p = metric("ttft")
    .percentiles.map(({ value }) => figure(value, 3))
    .join(", ");
  row(
    "server frozen for 2 s of 6: TTFT p50, p90, p95, p99",
    "1, 1402, 1702, 1942 ms",
    `${p} ms; sent on schedule: ${run.achievedPerSecond.toFixed(1)}/s`,
  );
}
{
  const frames = 2000;
  const script = answer(`at: 0, content: " token", times: ${frames}`, `at: 0, usage: { prompt: 1, completion: ${frames} }`, ...end(0));
  const found = [];
  for (let k = 0; k < 5; k++) {
    const { tokens, cpuSeconds, table, seconds } = await measure(script, { kind: "closed", concurrency: 16, durationMs: 3000 });
    const all = table.tokens.outputTokens.reduce((sum, value) => sum + value, 0);
    found.push({ rate: tokens.outputPerSecond, cpu: (cpuSeconds / seconds / tokens.outputPerSecond) * 1e6, all });
  }
  row(
    "16 streams, events coalesced by the server: tokens/s, CPU seconds per million",
    "",
    `${figure(median(found.map(({ rate }) => rate)))}, ${figure(median(found.map(({ cpu }) => cpu)))} (peak memory ${figure(process.resourceUsage().maxRSS / 1000)} MB)`,
  );
}
{
  const script = answer("at: 0, content: a", "at: 0, usage: { prompt: 1, completion: 1 }", ...end(0));
  for (const rate of [1000, 5000, 10_000]) {
    const { run, metric } = await measure(script, open(rate, 3000, "poisson"));
    const state = run.valid ? "valid" : `invalid: ${run.reasons.join("; ")}`;
    row(
      `one-token streams at ${rate}/s`,
      "",
      `${figure(run.achievedPerSecond, 4)}/s, lag p99 ${figure(run.lagP99Ms)} ms, TTFT p50 ${figure(metric("ttft").percentiles[0].value)} ms, ${state}`,
    );
  }
}
rmSync(work, { recursive: true });
console.log(`# The load generator against scripted times

${place("node bench/truth.mjs")}

The truth server runs in a process of its own on the same machine; its lateness is part of what is measured.

| what | scripted | measured |
|---|---|---|
${rows.join("\n")}
`);
