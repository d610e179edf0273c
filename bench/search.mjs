// The search over candidates, held against exhaustive visits of the digits' space that were really made.
//   node bench/search.mjs record   makes them (10 visits an arm, 3 runs; about 5 minutes) into bench/results/search-visits.json
//   node bench/search.mjs          replays them: regret and cost of the search over 200 seeds
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore, readModelHeader } from "../dist/artifact/index.js";
import { randomStream } from "../dist/base/index.js";
import { createBuilder, search } from "../dist/bench/index.js";
import { openScreen } from "../dist/build/index.js";
import { isBatchable, onnxruntimeStack, onnxruntimeWorker, routesOf, rowsOf, screenJob } from "../dist/build/onnxruntime/index.js";
import { loadDataset } from "../dist/data/index.js";
import { describeMachine } from "../dist/host/index.js";
import { candidatesOf, familyOf, isDefault, parseWorkload } from "../dist/workload/index.js";
import { figure, place } from "./place.mjs";

const results = fileURLToPath(new URL("results/search-visits.json", import.meta.url));
const [visitsEach, runs, windowMs, seeds] = [10, 3, 120, 200];

async function record() {
  const path = fileURLToPath(new URL("../examples/digits/workload.yaml", import.meta.url));
  const { workload } = parseWorkload(readFileSync(path, "utf8"));
  const folder = dirname(path);
  const models = await Promise.all(
    workload.models.map(async ({ id, path: file }) => ({
      id,
      path: join(folder, file),
      header: await readModelHeader(join(folder, file)),
    })),
  );
  const dataset = await loadDataset(workload, folder, models);
  const machine = describeMachine();
  const facts = models.map(({ id, header }) => ({ id, digest: header.digest, batchable: isBatchable(header), routes: routesOf(header) }));
  const { candidates, baseline } = candidatesOf(workload, { models: facts, cores: machine.cores, runtime: onnxruntimeStack() });
  const plain = candidates.filter(({ serving }) => JSON.stringify(serving) === JSON.stringify(baseline.serving));
  const work = mkdtempSync(join(tmpdir(), "assay-search-"));
  const store = openStore(join(work, "store"), { limitBytes: 1e9 });
  const builder = createBuilder({
    models,
    dataset,
    store,
    machine,
    workFolder: join(work, "files"),
    maxDurationMs: 60_000,
    signal: new AbortController().signal,
  });
  const artifacts = new Map();
  for (const one of plain) {
    if (!artifacts.has(familyOf(one))) artifacts.set(familyOf(one), (await builder.build(one, { fresh: false, startMs: 0 })).artifact);
  }
  const arms = plain.filter((one) => artifacts.get(familyOf(one)));
  const screen = openScreen(
    onnxruntimeWorker,
    screenJob(
      arms.map((one) => ({
        id: one.id,
        modelPath: artifacts.get(familyOf(one)).modelPath,
        bytes: artifacts.get(familyOf(one)).bytes,
        session: one.session,
        inputsFile: builder.tuningFile(one.model),
        rows: rowsOf(models.find(({ id }) => id === one.model).header),
        outputs: dataset.outputsOf(one.model),
      })),
    ),
    { maxDurationMs: 30 * 60_000 },
  );
  const recorded = arms.map((one) => ({
    id: one.id,
    name: one.name,
    family: familyOf(one),
    byDefault: isDefault(one, baseline),
    runs: Array.from({ length: runs }, () => []),
  }));
  for (let run = 0; run < runs; run++) {
    for (let visit = 0; visit < visitsEach; visit++) {
      for (const arm of randomStream("record", run, visit).shuffled(recorded))
        arm.runs[run].push((await screen.visit(arm.id, windowMs, null)).value);
      console.error(`run ${run + 1} of ${runs}, visit ${visit + 1} of ${visitsEach}`);
    }
  }
  await screen.close();
  store.close();
  writeFileSync(
    results,
    `${JSON.stringify({ made: place("node bench/search.mjs record"), baseline: baseline.id, windowMs, arms: recorded })}\n`,
  );
}

/** What an arm costs while nothing else disturbs the host. */
const undisturbed = (values) => values.toSorted((a, b) => a - b)[(values.length - 1) >> 2];
const share = (values, limit) => values.filter((value) => value <= limit).length / values.length;

/** One search over arms whose visits come from `draw(arm, round)`; regret against the true best, and windows spent. */
async function once(arms, baseline, draw, seed) {
  const truth = new Map(arms.map((arm) => [arm.id, arm.truth]));
  const found = await search({
    arms: arms.map(({ id, family, byDefault }) => ({ id, family, settings: byDefault ? [] : [id] })),
    baseline,
    stream: randomStream(String(seed), "order"),
    keep: 2,
    windowsLeft: () => Number.POSITIVE_INFINITY,
    visit: async (arm, part, cutOff) => {
      const value = draw(arm.id, part);
      return cutOff !== null && value > cutOff ? { value: null, reason: "cut off" } : { value };
    },
  });
  const best = Math.min(...truth.values());
  // What the race leaves together is what it cannot separate: the answer is right when the best is among them.
  const stayed = found.visited.filter(({ stopped }) => stopped === null).map(({ arm }) => truth.get(arm.id));
  return { regret: truth.get(found.ranked[0].id) / best - 1, together: Math.min(...stayed) / best - 1, windows: found.windows };
}

async function replay() {
  const { made, baseline, arms: recorded } = JSON.parse(readFileSync(results, "utf8"));
  const sound = recorded.filter(({ runs: own }) => own.flat().every((value) => value !== null));
  const exhaustive = sound.length * visitsEach;
  const lines = [];
  for (const [name, noise] of [
    ["5 % noise on what the arms cost undisturbed", "synthetic"],
    ["the noise really recorded", "recorded"],
  ]) {
    const all = [];
    for (let seed = 0; seed < seeds; seed++) {
      const run = seed % runs;
      const arms = sound.map((arm) => ({ ...arm, truth: undisturbed(arm.runs[run]) }));
      const byId = new Map(arms.map((arm) => [arm.id, arm]));
      const stream = randomStream(String(seed), "noise");
      const draw =
        noise === "synthetic"
          ? (id, part) => byId.get(id).truth * Math.exp((0.05 / Math.sqrt(part)) * stream.normal())
          : (id) => byId.get(id).runs[run][stream.below(visitsEach)];
      all.push(await once(arms, baseline, draw, seed));
    }
    const regrets = all.map(({ regret }) => regret);
    const windows = all.map((one) => one.windows).sort((a, b) => a - b);
    const cost = (q) => `${figure((100 * windows[Math.floor(q * (seeds - 1))]) / exhaustive)} %`;
    lines.push(
      `| ${name} | ${figure(100 * share(regrets, 0.02))} % | ${figure(100 * share(regrets, 0.05))} % | ${figure(
        100 * (all.filter(({ regret, together }) => regret <= 0.05 || together <= 0.001).length / seeds),
      )} % | ${cost(0.5)} (95 %: ${cost(0.95)}) |`,
    );
  }
  console.log(`# Search

${place("node bench/search.mjs")}
Visits: ${made}; ${sound.length} arms, ${visitsEach} visits each, ${runs} runs, ${seeds} seeds.

| visits drawn from | regret ≤ 2 % | regret ≤ 5 % | regret ≤ 5 %, or the best is among those that it leaves together | cost, of exhaustive visits: median |
|---|---|---|---|---|
${lines.join("\n")}

Goals: at 5 % noise regret ≤ 2 % in at least 95 % of the seeds at no more than 35 % of the exhaustive cost; at the recorded noise regret ≤ 5 % in at least 90 %, or a right "cannot separate".
`);
}

await (process.argv[2] === "record" ? record() : replay());
process.exit(0);
