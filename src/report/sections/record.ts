/** What was done, for whoever checks or repeats it: the funnel, runs, builds, conditions. */
import type { Verdict } from "../../decide/index.ts";
import { timelineFigure } from "../figures/timeline.ts";
import { bytes, escape, figure, interval, milliseconds, percent, rate } from "../format.ts";
import { frame, list, number, paragraph, plain, section, table } from "../markup.ts";

const stageNames = {
  residency: "residency",
  licence: "licence",
  compatibility: "compatibility",
  fit: "fit",
  estimate: "estimate",
  asked: "as asked",
  build: "build",
  screen: "screening",
  measure: "measurement",
} as const;

export function funnelSection({ funnel, screening }: Verdict): string {
  const removed = funnel.removed.map(({ stage, name, reason }) => [plain(name), plain(stageNames[stage]), plain(reason)]);
  const rows = screening.map(({ name, visits, wallMsPerItem, againstBaseline, fate }) => [
    plain(name),
    number(milliseconds(wallMsPerItem)),
    number(againstBaseline ? interval(againstBaseline, figure) : ""),
    number(String(visits)),
    plain(fate),
  ]);
  const counts = new Map<string, number>();
  for (const { stage } of funnel.removed) counts.set(stageNames[stage], (counts.get(stageNames[stage]) ?? 0) + 1);
  const said = [...counts].map(([stage, n]) => `${n} by ${stage}`).join(", ");
  return section(
    "funnel-h",
    "What was considered, and what was left out",
    paragraph(
      `${funnel.enumerated} combinations; ${funnel.removed.length} removed${said ? ` (${said})` : ""}; ${funnel.screened} screened in process; ${funnel.finalists} measured end to end.`,
    ),
    removed.length === 0
      ? ""
      : `<details><summary>${removed.length} removed, each with its reason</summary>${table("Removed", ["candidate", "stage", "reason"], removed)}</details>`,
    rows.length === 0
      ? ""
      : `<details><summary>${rows.length} screened in process</summary>${table("Wall time per item in process", ["candidate", "per item", "× baseline", "visits", "fate"], rows)}</details>`,
  );
}

export function runsSection({ runs }: Verdict): string {
  const rows = runs.map((run) => [
    plain(run.name),
    plain(`${run.purpose} ${run.block + 1}`),
    number(run.ratePerSecond === null ? "closed loop" : rate(run.ratePerSecond)),
    {
      text: run.valid ? (run.tainted ? "valid, host stalls" : "valid") : "invalid",
      className: `n ${run.valid ? (run.tainted ? "tainted" : "pass") : "invalid"}`,
    },
    plain(run.reasons.join("; ")),
    number(milliseconds(run.lagP99Ms)),
    number(String(run.stalls)),
    number(run.stolenRatio === null ? "not told" : percent(run.stolenRatio, 2)),
    number(run.cpuSecondsPerSecond === null ? "not told" : figure(run.cpuSecondsPerSecond)),
    number(milliseconds(run.p50Ms)),
    number(milliseconds(run.p99Ms)),
  ]);
  const invalid = runs.filter(({ valid }) => !valid).length;
  const tainted = runs.filter(({ tainted: touched }) => touched).length;
  return section(
    "runs-h",
    "Validity of every run",
    paragraph(
      `${runs.length} runs, ${invalid} invalid and not used, ${tainted} touched by host stalls: such a run may certify that a target is met; a miss counts only where it stays without the touched requests.`,
    ),
    rows.length === 0
      ? ""
      : `<details><summary>All ${rows.length} runs</summary>${table("Runs in order", ["candidate", "run", "rate", "validity", "reasons", "lag p99", "stalls", "stolen", "cores used", "p50", "p99"], rows)}</details>`,
  );
}

export function buildsSection({ builds }: Verdict): string {
  const rows = builds.map(({ model, route, outcome, detail, lengthMs, bytes: size, digest, phases }) => [
    plain(`${model} · ${route}`),
    { text: outcome, className: `n ${outcome === "failed" ? "fail" : ""}` },
    number(milliseconds(lengthMs)),
    number(size === null ? "" : bytes(size)),
    plain(phases.map((phase) => `${phase.name} ${milliseconds(phase.lengthMs)}`).join(", ")),
    plain(detail || (digest ?? "").slice(0, 12)),
  ]);
  return section(
    "builds-h",
    "Builds",
    frame(timelineFigure(builds.filter(({ outcome }) => outcome !== "skipped"))),
    `<details><summary>${rows.length} builds</summary>${table("Artifacts", ["model and route", "outcome", "time", "size", "phases", "artifact or failure"], rows)}</details>`,
  );
}

export function repeatSection({ repeat, statedNotUsed, openConditions, gatesNotAsked, workload, candidates, answer }: Verdict): string {
  const chosen = candidates.find(({ id }) => id === (answer.candidate ?? candidates[0]?.id));
  const facts = (values: Record<string, string | number | boolean>): string[] =>
    Object.entries(values).map(([name, value]) => `${name}: ${value}`);
  const settings = chosen
    ? `<h3>Settings of ${escape(chosen.name)}</h3><pre>${escape(JSON.stringify({ model: chosen.model, route: chosen.route, ...chosen.settings }, undefined, 2))}</pre>`
    : "";
  return [
    section(
      "conditions-h",
      "What this verdict takes for granted",
      list(openConditions),
      statedNotUsed.length === 0 ? "" : `<h3>Stated, not used</h3>${list(statedNotUsed.map(({ path, why }) => `${path}: ${why}`))}`,
      gatesNotAsked.length === 0 ? "" : `<h3>Gates nobody asked for</h3>${list(gatesNotAsked)}`,
    ),
    section(
      "repeat-h",
      "To repeat it",
      `<pre>${escape(repeat.command)}</pre>`,
      list([
        `root seed: ${repeat.rootSeed}`,
        `workload: ${workload.digest}`,
        ...facts(repeat.digests).map((fact) => fact),
        ...facts(repeat.versions),
        `time spent: ${Math.round(repeat.spentSeconds)} s of ${repeat.budgetSeconds} s`,
      ]),
      `<details><summary>The machine</summary>${list(facts(repeat.machine))}</details>`,
      settings,
    ),
  ].join("\n");
}
