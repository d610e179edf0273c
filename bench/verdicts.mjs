// Many runs of the digits in a row on one host: how often they reach a verdict, and how long they take. Runs that the folder holds already are counted.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { figure, median, place } from "./place.mjs";

const [folder, wanted = "10"] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node bench/verdicts.mjs FOLDER [runs]");
  process.exit(2);
}
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const assay = here("../dist/main.js");
const rows = [];
for (let i = 1; i <= Number(wanted); i++) {
  const out = join(resolve(folder), `run${i}`);
  if (!existsSync(join(out, "verdict.json")))
    spawnSync(process.execPath, [assay, "decide", here("../examples/digits/workload.yaml"), "--out", out], { stdio: "inherit" });
  execFileSync(process.execPath, [assay, "verify", out], { stdio: "ignore" });
  const { answer, repeat, runs, smallestDifference } = JSON.parse(readFileSync(join(out, "verdict.json"), "utf8"));
  const invalid = runs.filter(({ valid }) => !valid).length;
  const stalls = runs.reduce((sum, one) => sum + one.stalls, 0);
  rows.push({
    kind: answer.kind,
    name: answer.name,
    seconds: repeat.spentSeconds,
    runs: runs.length,
    invalid,
    stalls,
    ratio: smallestDifference.ratio,
  });
}
const told = rows.filter(({ kind }) => kind !== "cannot-tell").length;
console.log(`# Verdicts in a row

${place(`node bench/verdicts.mjs FOLDER ${wanted}`)}

${told} of ${rows.length} runs of the digits at 600 requests/s reached a verdict (goal: 9 of 10); median ${figure(median(rows.map(({ seconds }) => seconds)))} s (goal: ≤ 120 s). Each was verified from its records.

| answer | candidate | measuring, s | runs (invalid) | stalls seen | smallest visible difference of latency |
|---|---|---|---|---|---|
${rows.map(({ kind, name, seconds, runs, invalid, stalls, ratio }) => `| ${kind} | ${name ?? "–"} | ${figure(seconds)} | ${runs} (${invalid}) | ${stalls} | ${ratio === null ? "–" : `${figure(100 * ratio)} %`} |`).join("\n")}
`);
