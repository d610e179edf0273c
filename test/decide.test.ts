import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verdictSchema } from "../src/decide/index.ts";
import { assay, childrenLeft, startAssay } from "./command-line.ts";

const digits = fileURLToPath(new URL("../examples/digits", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "assay-decide-"));
const where = { cwd: folder, cache: join(folder, "cache") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The digits with a small space, so that a run takes seconds. */
const workload = (more: (text: string) => string = (text) => text): string =>
  more(
    readFileSync(join(digits, "workload.yaml"), "utf8")
      .replace(
        /search:[\s\S]*?budget:/,
        "search: { graph: [all], precision: [fp32, int8-static], perChannel: [false], batch: [1], execution: [sequential], spinning: [true], arena: [true], memoryPattern: [true] }\nbudget:",
      )
      .replace("wallSeconds: 120", "wallSeconds: 24"),
  );

beforeAll(() => {
  for (const part of ["models", "data"]) cpSync(join(digits, part), join(folder, part), { recursive: true });
  writeFileSync(join(folder, "workload.yaml"), workload());
});

describe("a run from workload to verdict", () => {
  it("reaches a sound verdict, whose report and records agree for ever", async () => {
    const run = await assay(["decide", "workload.yaml", "--out", "run"], where);
    expect(run.stderr).toMatch(/Building[\s\S]*Screening[\s\S]*accuracy[\s\S]*latency/);
    expect([0, 4], run.stdout + run.stderr).toContain(run.code);
    const text = readFileSync(join(folder, "run/verdict.json"), "utf8");
    const verdict = verdictSchema.parse(JSON.parse(text));
    expect(run.stdout).toContain(verdict.answer.sentence.slice(0, 30));
    const accuracy = (name: string): number | undefined => verdict.candidates.find((one) => one.name === name)?.accuracy?.value.value;
    expect(accuracy("cnn · as it is")).toBeCloseTo(0.975, 6);
    expect(accuracy("mlp · as it is")).toBeCloseTo(0.9765, 6);
    for (const one of verdict.runs) expect(Object.values(one.ledger).reduce((a, b) => a + b, 0)).toBe(one.scheduled);
    expect(verdict.repeat.spentSeconds).toBeLessThan(60);

    const html = readFileSync(join(folder, "run/report.html"), "utf8");
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
    rmSync(join(folder, "run/report.html"));
    expect((await assay(["report", "run"], where)).code).toBe(0);
    expect(readFileSync(join(folder, "run/report.html"), "utf8")).toBe(html);
    expect(readFileSync(join(folder, "run/verdict.json"), "utf8")).toBe(text);
    expect(await assay(["verify", "run"], where)).toMatchObject({ code: 0 });
    expect(childrenLeft()).toEqual([]);
  });

  it("is handed to other tools, and to CI by the exit status that was asked for", async () => {
    const { answer } = verdictSchema.parse(JSON.parse(readFileSync(join(folder, "run/verdict.json"), "utf8")));
    const exchange = ["--markdown", "run.md", "--junit", "run.xml"];
    expect((await assay(["report", "run", ...exchange, "--fail-on", answer.kind], where)).code).toBe(5);
    expect(readFileSync(join(folder, "run.md"), "utf8")).toContain(answer.sentence);
    expect(readFileSync(join(folder, "run.xml"), "utf8")).toMatch(/^<\?xml[\s\S]*<testsuite name="assay: digits"/);
    expect((await assay(["report", "run", "--fail-on", "none-meets"], where)).code).toBe(answer.kind === "none-meets" ? 5 : 0);
    expect(await assay(["report", "run", "--fail-on", "defeat"], where)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/"defeat" is no kind of answer; the kinds are winner, keep/) as string,
    });
  });

  it("is measured again by replay, which says whether it agrees, and compared by name", async () => {
    const again = await assay(["replay", "run", "--out", "again", "--budget", "20s"], where);
    expect([0, 3], again.stderr).toContain(again.code);
    expect(again.stderr).not.toMatch(/Screening/);
    expect(again.stdout).toMatch(/The second run (agrees|does not agree) with the first[\s\S]*fresh seeds[\s\S]*budget: 24 s → 20 s/);
    const names = (name: string): string[] =>
      verdictSchema.parse(JSON.parse(readFileSync(join(folder, name, "verdict.json"), "utf8"))).candidates.map((one) => one.name);
    expect(names("again").sort()).toEqual(names("run").sort());
    expect((await assay(["verify", "again"], where)).code).toBe(0);
    const compared = await assay(["compare", "run", "again", "--json"], where);
    expect(compared.code).toBe(again.code);
    expect(JSON.parse(compared.stdout)).toMatchObject({
      agrees: again.code === 0,
      differences: expect.arrayContaining(["fresh seeds"]) as string[],
    });
    expect(await assay(["compare", "run", "run"], where)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/agrees with the first/) as string,
    });
    writeFileSync(
      join(folder, "other.yaml"),
      workload((text) => text.replace("maxDrop: 0.01", "maxDrop: 0.02")),
    );
    expect(await assay(["replay", "run", "--workload", "other.yaml", "--out", "never"], where)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/RUN_DIFFERS[\s\S]*another workload file/) as string,
    });
  });

  it("decides several workloads in one call, and only the candidates that were asked for", async () => {
    for (const name of ["one", "two"])
      writeFileSync(
        join(folder, `${name}.yaml`),
        // The second sees black pictures only.
        workload((text) =>
          text.replace("name: digits", `name: ${name}`).replace(/scale: [\d.e-]+/, (own) => (name === "two" ? "scale: 1e-9" : own)),
        ),
      );
    const both = await assay(
      ["decide", "one.yaml", "two.yaml", "--out", "both", "--budget", "9s", "--only", "cnn * as it is", "--fail-on", "none-meets"],
      where,
    );
    expect(both.code, both.stderr).toBe(5);
    expect(both.stderr).toMatch(/1 of 2: one\.yaml[\s\S]*2 of 2: two\.yaml/);
    expect(
      both.stdout
        .trim()
        .split("\n")
        .slice(-2)
        .map((line) => line.split(":")[0]),
    ).toEqual(["one", "two"]);
    const verdictOf = (name: string) => verdictSchema.parse(JSON.parse(readFileSync(join(folder, "both", name, "verdict.json"), "utf8")));
    const { candidates, funnel, repeat, answer } = verdictOf("2");
    expect(answer.reasons[0]).toMatch(
      /^cnn · as it is has a top1 of 0\.\d+; the same answer for every item would have 0\.1\d+: check data\.inputs/,
    );
    expect(verdictOf("1").answer.reasons.join()).not.toMatch(/the same answer/);
    expect(candidates.map(({ name }) => name)).toEqual(["cnn · as it is"]);
    expect(funnel.removed.filter(({ stage }) => stage === "asked").length).toBeGreaterThan(1);
    expect(repeat.command).toBe('assay decide two.yaml --budget 9s --only "cnn * as it is"');
    expect(await assay(["decide", "one.yaml", "two.yaml", "--json"], where)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--json goes with one workload/) as string,
    });
  });

  it("is found out when the verdict or a record was changed", async () => {
    cpSync(join(folder, "run"), join(folder, "forged"), { recursive: true });
    const path = join(folder, "forged/verdict.json");
    writeFileSync(path, readFileSync(path, "utf8").replace('"pass"', '"fail"'));
    const forged = await assay(["verify", "forged"], where);
    expect(forged.code).toBe(3);
    expect(forged.stderr).toMatch(/RUN_MISMATCH[\s\S]*candidates/);
    writeFileSync(path, readFileSync(join(folder, "run/verdict.json"), "utf8").replace(/"decidedBy": "[^"]+"/, '"decidedBy": "0.0.1"'));
    const older = await assay(["verify", "forged"], where);
    expect(older).toMatchObject({ code: 0, stdout: expect.stringMatching(/Decided by 0\.0\.1/) as string });
    const [record] = readdirSync(join(folder, "forged/records"));
    const bytes = readFileSync(join(folder, "forged/records", record!));
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(join(folder, "forged/records", record!), bytes);
    const touched = await assay(["verify", "forged"], where);
    expect(touched.code).toBe(3);
    expect(touched.stderr).toContain(record!);
  });

  it("says on stdout one JSON document and nothing else, and none meets with exit 3", async () => {
    writeFileSync(
      join(folder, "impossible.yaml"),
      workload((text) => text.replace("p50: 10, p99: 100", "p50: 0.001, p99: 0.002").replace("wallSeconds: 24", "wallSeconds: 16")),
    );
    const { code, stdout, stderr } = await assay(["decide", "impossible.yaml", "--json", "--out", "impossible"], where);
    const verdict = verdictSchema.parse(JSON.parse(stdout));
    expect(verdict.answer.kind, stderr).toBe("none-meets");
    expect(verdict.answer.reasons[0]).toMatch(/p\d+ is [\d.]+ ms, target 0\.00/);
    expect(code).toBe(3);
  });
});

describe("interruptions", () => {
  it("Ctrl-C leaves no process, and the run goes on where it stopped", async () => {
    const first = startAssay(["decide", "workload.yaml", "--out", "stopped"], where);
    await first.said(/Measuring latency/);
    first.child.kill("SIGINT");
    const { code, stderr } = await first.ended;
    expect(code, stderr).toBe(130);
    expect(stderr).toMatch(/--resume/);
    expect(childrenLeft()).toEqual([]);
    const entries = (): string[] => readFileSync(join(folder, "stopped/journal.jsonl"), "utf8").trim().split("\n");
    const before = entries();
    const resumed = await assay(["decide", "workload.yaml", "--resume", "stopped"], where);
    expect([0, 4], resumed.stderr).toContain(resumed.code);
    expect(entries().slice(0, before.length)).toEqual(before);
    expect(entries().filter((line) => line.includes('"kind":"screening"'))).toHaveLength(1);
    expect((await assay(["verify", "stopped"], where)).code).toBe(0);
  });

  it("kill -9 leaves no child after 6 s, and loses nothing that was done", async () => {
    const first = startAssay(["decide", "workload.yaml", "--out", "killed"], where);
    await first.said(/Measuring latency/);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    first.child.kill("SIGKILL");
    await first.ended;
    await expect.poll(childrenLeft, { timeout: 6000 }).toEqual([]);
    const resumed = await assay(["decide", "workload.yaml", "--resume", "killed"], where);
    expect([0, 4], resumed.stderr).toContain(resumed.code);
    expect((await assay(["verify", "killed"], where)).code).toBe(0);
  });

  it("a model server that is killed ends the run with its code, and the run can go on", async () => {
    const first = startAssay(["decide", "workload.yaml", "--out", "lost"], where);
    await first.said(/Measuring latency/);
    const [server] = childrenLeft().filter((line) => line.includes("serving"));
    process.kill(Number(server!.split(" ")[0]), "SIGKILL");
    const { code, stderr } = await first.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/SERVER_LOST/);
    expect(childrenLeft()).toEqual([]);
    const resumed = await assay(["decide", "workload.yaml", "--resume", "lost"], where);
    expect([0, 4], resumed.stderr).toContain(resumed.code);
  });

  it("refuses to go on with another workload, and in a folder that holds something else", async () => {
    writeFileSync(
      join(folder, "other.yaml"),
      workload((text) => text.replace("ratePerSecond: 600", "ratePerSecond: 500")),
    );
    expect(await assay(["decide", "other.yaml", "--resume", "run"], where)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/RUN_DIFFERS/) as string,
    });
    expect(await assay(["decide", "workload.yaml", "--out", "run"], where)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/OUT_EXISTS/) as string,
    });
    expect(await assay(["verify", "models"], where)).toMatchObject({ code: 2, stderr: expect.stringMatching(/RUN_UNREADABLE/) as string });
  });
});

describe("damage", () => {
  it("a cached artifact with a flipped bit is set aside and built anew", async () => {
    const artifacts = join(folder, "cache/artifacts/artifacts");
    for (const digest of readdirSync(artifacts)) {
      const path = join(artifacts, digest, "model.onnx");
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1]! ^= 4;
      writeFileSync(path, bytes);
    }
    const { code, stderr, stdout } = await assay(["decide", "workload.yaml", "--json", "--out", "flipped", "--budget", "14s"], where);
    expect([0, 4], stderr).toContain(code);
    const { builds } = verdictSchema.parse(JSON.parse(stdout));
    expect(builds.map(({ outcome }) => outcome)).toEqual(builds.map(() => "built"));
    expect(readdirSync(join(folder, "cache/artifacts/damaged")).length).toBeGreaterThan(0);
  });

  it("a disk that is full is said, nothing half-written is left, and the run goes on when there is room", async () => {
    const limit = ["bash", "-c", 'ulimit -f 600; trap "" XFSZ; exec "$@"', "bash"];
    const { code, stderr } = await assay(["decide", "workload.yaml", "--out", "full"], {
      cwd: folder,
      cache: join(folder, "cache-full"),
      wrap: limit,
    });
    expect(stderr).toMatch(/DISK_FULL/);
    expect(code).toBe(1);
    expect(existsSync(join(folder, "full/verdict.json"))).toBe(false);
    expect(readdirSync(join(folder, "cache-full/artifacts/work"))).toEqual([]);
    expect(childrenLeft()).toEqual([]);
    const resumed = await assay(["decide", "workload.yaml", "--resume", "full"], where);
    expect([0, 4], resumed.stderr).toContain(resumed.code);
    expect((await assay(["verify", "full"], where)).code).toBe(0);
  });
});
