import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { openStore, type Store } from "../src/artifact/index.ts";
import { obtainArtifact, runJob, startJob, type WorkerSpec } from "../src/build/index.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-build-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A worker made of a few lines: `say(type, fields)` speaks the protocol, `on(command)` hears it. */
let workers = 0;
function fake(body: string): WorkerSpec {
  const path = join(folder, `worker-${workers++}.mjs`);
  writeFileSync(
    path,
    `import { writeSync } from "node:fs"; import { createInterface } from "node:readline";
let seq = 0; let job = "";
const raw = (text) => writeSync(3, text);
const say = (type, fields = {}) => raw(JSON.stringify({ v: 1, job, attempt: 1, seq: seq++, t: 0, type, ...fields }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => { const command = JSON.parse(line); if (command.type === "start") { job = command.job; start(command.spec); } else on(command); });
setInterval(() => {}, 1000);
let on = () => {};
${body}`,
  );
  return { name: "fake", entry: pathToFileURL(path) };
}
const run = (body: string, options: Partial<Parameters<typeof runJob>[2]> = {}) =>
  runJob(fake(body), {}, { maxDurationMs: 10_000, graceMs: 200, ...options });

describe("the supervisor", () => {
  it("reports phases, artifact and end", async () => {
    const outcome = await run(
      `const start = () => { say("phase", { id: 1, parent: null, name: "pack", edge: "start", total: null }); say("phase", { id: 1, parent: null, name: "pack", edge: "end", total: null });
       say("artifact", { path: "x", bytes: 1, sha256: "0", kind: "onnx", entry: "x" }); say("done"); process.exit(0); };`,
    );
    expect(outcome).toMatchObject({ kind: "done", phases: [{ name: "pack" }], artifact: { entry: "x" } });
  });
  it.each([
    [
      "a gap in the numbers",
      `const start = () => { say("log", { level: "info", text: "a" }); seq++; say("done"); };`,
      "worker_crash",
      /event 2 came where 1/,
    ],
    ["what is no event", `const start = () => raw("hello\\n");`, "worker_crash", /does not fit: hello/],
    [
      "a line without end",
      `const start = () => { for (let i = 0; i < 20; i++) raw("x".repeat(8000)); };`,
      "worker_crash",
      /longer than 65536/,
    ],
    [
      "an end without a word",
      `const start = () => { console.error("at /home/ada/secret/model"); process.exit(7); };`,
      "worker_crash",
      /exit 7/,
    ],
    [
      "speech after the end",
      `const start = () => { say("done"); say("log", { level: "info", text: "a" }); };`,
      "worker_crash",
      /after its end/,
    ],
    [
      "an error of its own",
      `const start = () => { say("error", { class: "oom", message: "no memory" }); process.exit(0); };`,
      "oom",
      /no memory/,
    ],
  ])("fails on %s", async (_, body, failure, message) => {
    const outcome = await run(body);
    expect(outcome).toMatchObject({ kind: "failed", class: failure });
    if (outcome.kind === "failed") {
      expect(outcome.message).toMatch(message);
      expect(outcome.message).not.toMatch(/ada/);
    }
  });
  it("kills one that falls silent, and one that takes too long while it beats", async () => {
    expect(await run(`const start = () => {};`, { silenceMs: 400 })).toMatchObject({ kind: "failed", class: "stalled", retryable: true });
    const beating = `const start = () => setInterval(() => say("heartbeat", { rssBytes: 1, lastPhase: null }), 50);`;
    expect(await run(beating, { silenceMs: 400, maxDurationMs: 1000 })).toMatchObject({
      kind: "failed",
      class: "timeout",
      retryable: false,
    });
  });
  it("kills one that ignores cancel and SIGTERM, and gives the same answer twice", async () => {
    const job = startJob(
      fake(
        `process.on("SIGTERM", () => {}); const start = () => say("phase", { id: 1, parent: null, name: "deep", edge: "start", total: null });`,
      ),
      {},
      { maxDurationMs: 10_000, graceMs: 150 },
    );
    await new Promise((resolve) => setTimeout(resolve, 400));
    const [first, second] = await Promise.all([job.cancel("me"), job.cancel("you")]);
    expect(first).toMatchObject({ kind: "cancelled", by: "me", phase: "killed" });
    expect(second).toBe(first);
    expect(await job.cancel("later")).toBe(first);
  });
  it("lets one that hears it end by itself", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 300);
    const outcome = await run(
      `const start = () => {}; on = (command) => { say("cancelled", { by: command.by, phase: "deep" }); process.exit(0); };`,
      { signal: controller.signal, graceMs: 5000 },
    );
    expect(outcome).toMatchObject({ kind: "cancelled", by: "signal" });
  });
});

describe("obtaining an artifact", () => {
  const fields = { stack: {}, builder: {}, model: {} };
  const sha = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"; // SHA-256 of "a"
  const request = (body: string) => ({
    worker: fake(body),
    fields,
    build: (out: string) => ({ kind: "build", out }),
    smoke: (path: string) => ({ kind: "smoke", path }),
    facts: {},
  });
  const writes = (content: string, claim: { bytes: number; sha256: string }): string =>
    `import fs from "node:fs"; const start = (spec) => { if (spec.kind === "build") { fs.writeFileSync(spec.out + "/m", ${JSON.stringify(content)});
     say("artifact", { path: "m", entry: "m", kind: "onnx", ...${JSON.stringify(claim)} }); } say("done"); process.exit(0); };`;
  const open = (): Store => openStore(mkdtempSync(join(folder, "store-")), { limitBytes: 1e9 });

  it("refuses an empty file and one that differs from what was announced", async () => {
    const store = open();
    for (const [content, claim] of [
      ["", { bytes: 0, sha256: sha }],
      ["b", { bytes: 1, sha256: sha }],
      ["aa", { bytes: 1, sha256: sha }],
    ] as const) {
      const result = await obtainArtifact(store, request(writes(content, claim)), { maxDurationMs: 10_000 });
      expect(result).toMatchObject({ outcome: "failed", artifact: null, failure: { class: "artifact_invalid" } });
    }
    expect((await store.find(fields)).kind).toBe("miss");
  });
  it("builds once, then takes it from the store, and anew when asked", async () => {
    const store = open();
    const good = request(writes("a", { bytes: 1, sha256: sha }));
    expect((await obtainArtifact(store, good, { maxDurationMs: 10_000 })).outcome).toBe("built");
    expect((await obtainArtifact(store, good, { maxDurationMs: 10_000 })).outcome).toBe("cached");
    expect((await obtainArtifact(store, { ...good, fresh: true }, { maxDurationMs: 10_000 })).outcome).toBe("built");
  });
  it("sets a hit aside that no longer runs", async () => {
    const store = open();
    await obtainArtifact(store, request(writes("a", { bytes: 1, sha256: sha })), { maxDurationMs: 10_000 });
    const broken = `import fs from "node:fs"; const start = (spec) => { if (spec.kind === "smoke") say("error", { class: "artifact_invalid", message: "it does not run" }); else say("error", { class: "oom", message: "no" }); process.exit(0); };`;
    const result = await obtainArtifact(store, request(broken), { maxDurationMs: 10_000 });
    expect(result.note).toMatch(/does not run/);
    expect(result.outcome).toBe("failed");
    expect((await store.find(fields)).kind).toBe("miss");
  });
});
