// The search beside Optuna (TPE) on the same arms and the same instrument, and beside OpenVINO with NNCF on its own.
//   node bench/tuners.mjs OPTUNA_PYTHON NNCF_PYTHON    (Pythons that have optuna; openvino and nncf)
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openOnnxSession, openStore, readModelHeader } from "../dist/artifact/index.js";
import { randomStream } from "../dist/base/index.js";
import { createBuilder, search } from "../dist/bench/index.js";
import { openScreen } from "../dist/build/index.js";
import { isBatchable, onnxruntimeStack, onnxruntimeWorker, routesOf, rowsOf, screenJob } from "../dist/build/onnxruntime/index.js";
import { loadDataset } from "../dist/data/index.js";
import { describeMachine } from "../dist/host/index.js";
import { pairedRatio } from "../dist/stats/index.js";
import { bytesOfData } from "../dist/tensor/index.js";
import { candidatesOf, defaultSession, familyOf, parseWorkload, routeName, settingsChanged } from "../dist/workload/index.js";
import { figure, median, place } from "./place.mjs";

const [optunaPython, nncfPython] = process.argv.slice(2);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const windowMs = 120;
const seeds = 5;
const pairs = 20;
const space = {
  graph: ["disabled", "basic", "extended", "all"],
  execution: ["sequential", "parallel"],
  spinning: [true, false],
  arena: [true, false],
};
const subjects = [
  { name: "digits, MLP", path: "../examples/digits/workload.yaml", model: "mlp", budgetS: 24 },
  { name: "text recognition", path: "../examples/ocr/workload.yaml", model: "recogniser", budgetS: 90 },
];

async function prepare({ path, model: id }) {
  const file = here(path);
  const folder = dirname(file);
  const { workload: stated } = parseWorkload(readFileSync(file, "utf8"));
  const own = stated.models.filter((model) => model.id === id);
  const precision = ["fp32", "fp16", "int8-dynamic", "int8-static", "int8-weights", "int4-weights"];
  const workload = { ...stated, models: own, search: { ...space, precision, interThreads: [2], batch: [1], combine: "every" } };
  const models = await Promise.all(
    own.map(async (model) => ({ id, path: join(folder, model.path), header: await readModelHeader(join(folder, model.path)) })),
  );
  const [{ header, path: modelPath }] = models;
  const dataset = await loadDataset(workload, folder, models);
  const work = mkdtempSync(join(tmpdir(), "assay-tuners-"));
  const store = openStore(join(work, "store"), { limitBytes: 4e9 });
  const { signal } = new AbortController();
  const machine = describeMachine();
  const builder = createBuilder({ models, dataset, store, machine, workFolder: join(work, "files"), maxDurationMs: 120_000, signal });
  const facts = [{ id, digest: header.digest, batchable: isBatchable(header), routes: routesOf(header) }];
  const { candidates, baseline } = candidatesOf(workload, { models: facts, cores: machine.cores, runtime: onnxruntimeStack() });
  const families = new Map();
  for (const one of candidates) {
    const family = familyOf(one);
    if (families.has(family)) continue;
    const { artifact } = await builder.build(one, { fresh: false, startMs: 0 });
    if (!artifact) continue;
    // Accuracy in process, once a family: both tuners are told it, neither pays for it.
    const session = await openOnnxSession(artifact.modelPath, defaultSession(1), dataset.outputsOf(id));
    const answers = dataset.splits.holdout.map((item) => session.runNow(dataset.stack(id, [item])));
    await session.close();
    const scores = dataset.score(id, dataset.splits.holdout, answers);
    const value = scores.reduce((sum, score) => sum + (score.value ?? 0), 0) / scores.length;
    families.set(family, { artifact, value });
  }
  const sign = dataset.metric.betterIs === "higher" ? 1 : -1;
  const base = families.get(familyOf(baseline)).value;
  const violation = (one) => sign * (base - families.get(familyOf(one)).value) - workload.accuracy.maxDrop;
  const arms = candidates.filter((one) => families.has(familyOf(one)));
  const job = screenJob(
    arms.map((one) => ({
      id: one.id,
      modelPath: families.get(familyOf(one)).artifact.modelPath,
      bytes: families.get(familyOf(one)).artifact.bytes,
      session: one.session,
      inputsFile: builder.tuningFile(id),
      rows: rowsOf(header),
      outputs: dataset.outputsOf(id),
    })),
  );
  // Each search opens its own sessions, as a user's would.
  const openArms = () => openScreen(onnxruntimeWorker, job, { maxDurationMs: 60 * 60_000 });
  const close = () => {
    store.close();
    rmSync(work, { recursive: true, force: true });
  };
  return { id, dataset, workload, modelPath, arms, baseline, violation, families, openArms, base, sign, work, close };
}

/** Times every visit; opening a session counts, as it would for a user. */
function instrument({ openArms }) {
  const screen = openArms();
  let [spent, windows] = [0, 0];
  return {
    spent: () => spent,
    /** Seconds of a full window; what is expected before any is known. */
    windowSeconds: () => (windows < 5 ? (1.4 * windowMs) / 1000 : spent / windows),
    visit: async (id, share, cutOff) => {
      const began = performance.now();
      const found = await screen.visit(id, share * windowMs, cutOff);
      spent += (performance.now() - began) / 1000;
      windows += share;
      return found;
    },
    close: () => screen.close(),
  };
}

async function ours(ready, seed, budgetS) {
  const { arms, baseline, violation } = ready;
  const { visit, spent, windowSeconds, close } = instrument(ready);
  const byId = new Map(arms.map((one) => [one.id, one]));
  const { ranked } = await search({
    arms: arms.map((one) => ({ id: one.id, family: familyOf(one), settings: settingsChanged(one, baseline) })),
    baseline: baseline.id,
    stream: randomStream(seed, "visit-order"),
    keep: 2,
    admit: async ({ id }) => (violation(byId.get(id)) <= 0 ? null : "its accuracy fails"),
    windowsLeft: () => Math.max(0, (budgetS - spent()) / windowSeconds()),
    visit: (arm, share, cutOff) => visit(arm.id, share, cutOff),
  });
  await close();
  return { pick: byId.get(ranked[0].id), spent: spent() };
}

async function optuna(ready, seed, budgetS) {
  const { arms, violation } = ready;
  const { visit, spent, close } = instrument(ready);
  const routes = [...new Set(arms.map(({ route }) => routeName(route)))];
  const child = spawn(optunaPython, [here("optuna-tuner.py"), String(seed), JSON.stringify({ family: routes, ...space })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const find = (choice) =>
    arms.find((one) => routeName(one.route) === choice.family && Object.keys(space).every((name) => one.session[name] === choice[name]));
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line);
    if ("best" in said) {
      await close();
      return { pick: said.best && find(said.best), spent: spent(), trials: said.trials };
    }
    if (spent() >= budgetS) {
      child.stdin.write("end\n");
      continue;
    }
    const one = find(said);
    const { value } = await visit(one.id, 1, null);
    child.stdin.write(`${JSON.stringify({ ms: value, violation: violation(one) })}\n`);
  }
}

function nncf({ id, dataset, modelPath, work, base, sign, workload }) {
  const lines = [];
  for (const [part, items] of Object.entries(dataset.splits)) {
    for (const item of part === "tuning" ? items.slice(0, 32) : items) {
      const [[, tensor]] = dataset.stack(id, [item]);
      const path = join(work, `${part}-${item}.bin`);
      writeFileSync(path, bytesOfData(tensor.data));
      lines.push(JSON.stringify({ part, shape: tensor.shape, path }));
    }
  }
  writeFileSync(join(work, "items.jsonl"), lines.join("\n"));
  const text = execFileSync(nncfPython, [here("nncf-tuner.py"), modelPath, join(work, "items.jsonl"), String(pairs)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 1e8,
  });
  const found = JSON.parse(text.trim().split("\n").at(-1));
  const [output] = dataset.outputsOf(id);
  const answers = dataset.splits.holdout.map((_, k) => {
    const bytes = readFileSync(join(found.outputs, `${k}.bin`));
    const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    return new Map([[output, { datatype: "FP32", shape: JSON.parse(readFileSync(join(found.outputs, `${k}.json`), "utf8")), data }]]);
  });
  rmSync(found.outputs, { recursive: true });
  const scores = dataset.score(id, dataset.splits.holdout, answers);
  const value = scores.reduce((sum, score) => sum + (score.value ?? 0), 0) / scores.length;
  const kept = sign * (base - value) <= workload.accuracy.maxDrop;
  return { ...found, value, kept };
}

const ratio = (found) => `${figure(found.value)} (${figure(found.low)}–${figure(found.high)})`;
const report = [];
for (const subject of subjects) {
  console.error(`${subject.name}: building`);
  const ready = await prepare(subject);
  const picks = { ours: [], optuna: [] };
  for (let seed = 0; seed < seeds; seed++) {
    picks.ours.push(await ours(ready, seed, subject.budgetS / 2));
    picks.optuna.push(await optuna(ready, seed, subject.budgetS));
    console.error(`${subject.name}: seed ${seed + 1} of ${seeds}`);
  }
  // The truth: all arms in two short rounds, then the best dozen, the default and all picks side by side in 20 rounds.
  const { arms, baseline, violation } = ready;
  const screen = ready.openArms();
  const quick = [];
  for (const arm of arms.filter((one) => violation(one) <= 0)) {
    const values = [];
    for (let k = 0; k < 2; k++)
      values.push((await screen.visit(arm.id, windowMs / 3, (values[0] ?? 1e9) * 10)).value ?? Number.POSITIVE_INFINITY);
    quick.push({ arm, ms: Math.min(...values) });
  }
  const best = quick
    .sort((a, b) => a.ms - b.ms)
    .slice(0, 12)
    .map(({ arm }) => arm);
  const chosen = [...picks.ours, ...picks.optuna].flatMap(({ pick }) => (pick ? [pick] : []));
  const finals = [...new Map([baseline, ...best, ...chosen].map((one) => [one.id, one])).values()];
  const measured = new Map(finals.map(({ id }) => [id, []]));
  for (let round = 0; round < pairs; round++) {
    for (const one of randomStream("finals", round).shuffled(finals))
      measured.get(one.id).push((await screen.visit(one.id, windowMs, null)).value);
  }
  await screen.close();
  const level = ({ id }) => median(measured.get(id));
  const truth = Math.min(...finals.filter((one) => violation(one) <= 0).map(level));
  const regretOf = ({ pick }) => (pick ? level(pick) / truth - 1 : Number.POSITIVE_INFINITY);
  const against = ({ pick }) => pairedRatio(measured.get(pick.id).map((value, k) => [value, measured.get(baseline.id)[k]]));
  for (const [tuner, found] of Object.entries(picks)) {
    const regrets = found.map(regretOf);
    const gains = found.filter(({ pick }) => pick).map(against);
    report.push(
      `| ${subject.name}, ${arms.length} arms | ${tuner === "ours" ? "this search" : "Optuna TPE"} | ${figure(median(found.map(({ spent }) => spent)))} s | ${figure(100 * median(regrets))} % (worst ${figure(100 * Math.max(...regrets))} %) | ${found.filter(({ pick }) => pick && violation(pick) <= 0).length} of ${seeds} | ${ratio(gains.sort((a, b) => a.value - b.value)[Math.floor(gains.length / 2)])} | ${gains.filter(({ low }) => low > 1).length} of ${seeds} |`,
    );
  }
  const peer = nncf(ready);
  const change = pairedRatio(peer.ratios.map((value) => [value, 1]));
  report.push(
    `| ${subject.name} | OpenVINO + NNCF, its own runtime | ${figure(peer.quantisedSeconds)} s to quantise | – | ${peer.kept ? "yes" : "no"} (${ready.dataset.metric.name} ${figure(peer.value)}, before ${figure(ready.base)}) | ${ratio(change)} of its float model; ${figure(peer.ms[1])} ms against ${figure(level(baseline))} ms of the default here and ${figure(truth)} ms of the best | ${change.low > 1 ? 1 : 0} of 1 |`,
  );
  ready.close();
}
console.log(`# Tuners

${place("node bench/tuners.mjs OPTUNA_PYTHON NNCF_PYTHON")}

Same arms, same artifacts and same instrument for both tuners; ${seeds} seeds each, this search with half the budget. Accuracy of every build is told to both. Regret: median time of the pick over that of the best arm known, from ${pairs} interleaved rounds.

| subject | tuner | measured for | regret: median | accuracy kept | time, of the default: median seed (95 %) | worse than the default |
|---|---|---|---|---|---|---|
${report.join("\n")}
`);
