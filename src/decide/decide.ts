/** Evidence → verdict. Pure: the same records and version give the same document. */
import { figure, roundNumbers, type Json } from "../base/index.ts";
import { ratioOverRounds, type Evidence, type Judges, type VisitView } from "../bench/index.ts";
import { smallestVisibleRatio } from "../stats/index.ts";
import { targetsInWords } from "../workload/index.ts";
import { judgeAccuracy } from "./accuracy.ts";
import { answerOf, proposal, type Judged } from "./answer.ts";
import { judgeAll, looksAt, questionOf } from "./candidate.ts";
import { visitsOf } from "./figures.ts";
import { cpuUse, faultsOf, judgeRate, judgeStep, type Targets } from "./targets.ts";
import { payBackOf } from "./pay-back.ts";
import { verdictSchema, type Verdict } from "./verdict.ts";

/** What the run asks in between: see the experiment's `Judges`. */
export const judges: Judges = {
  step: (evidence, view) => judgeStep(view, questionOf(evidence).targets).outcome,
  accuracy: (evidence, id) => judgeAccuracy(looksAt(evidence, id), questionOf(evidence).accuracy, evidence.run).gate,
  settled: (evidence, id) => judgeRate(visitsOf(evidence, id, "rate"), questionOf(evidence).targets).outcome !== "cannot-tell",
  leader: (evidence) => {
    const found = proposal(judgeAll(evidence).judged);
    return found && found.proposed.verdict.role !== "baseline" ? found.proposed.verdict.id : null;
  },
};

function smallestDifference(judged: readonly Judged[]): Verdict["smallestDifference"] {
  const seen = (pick: (one: Judged) => { logSd: number; pairs: number } | null): number | null => {
    const ratios = judged.flatMap((one) => {
      const ratio = pick(one);
      const visible = ratio && smallestVisibleRatio(ratio.logSd, ratio.pairs);
      return visible === null ? [] : [visible];
    });
    return ratios.length === 0 ? null : Math.max(...ratios);
  };
  const [latency, cpu] = [seen((one) => one.latency), seen((one) => one.cpu)];
  if (latency === null)
    return { ratio: null, sentence: "No two candidates were measured side by side; capacities are known to ±10 % only." };
  const percent = (ratio: number): string => (ratio < 1 ? `${figure(100 * ratio)} %` : `a factor of ${figure(1 + ratio)}`);
  const besides = cpu === null ? "" : `, and of CPU time below ${percent(cpu)}`;
  return {
    ratio: latency,
    sentence: `This run could not have seen a difference of median latency below ${percent(latency)}${besides}; capacities are known to ±10 %.`,
  };
}

function screeningRows(evidence: Evidence): Verdict["screening"] {
  const { screening, run } = evidence;
  if (!screening) return [];
  const names = new Map(run.candidates.map(({ id, name }) => [id, name]));
  const visited = screening.visited.filter(({ visits }) => visits.length > 0);
  const asVisited = (one: (typeof visited)[number]) => ({
    arm: { id: one.id, family: "", settings: [] },
    visits: one.visits,
    stopped: one.stopped,
  });
  const base = visited.find(({ id }) => id === run.candidates[0]!.id);
  return visited
    .map((one) => {
      const values = one.visits.flatMap(({ value }) => (value === null ? [] : [value])).sort((a, b) => a - b);
      const ratio = base && one !== base ? ratioOverRounds(asVisited(one), asVisited(base)) : null;
      return {
        id: one.id,
        name: names.get(one.id) ?? one.id,
        visits: one.visits.length,
        wallMsPerItem: values.length === 0 ? null : values[Math.floor((values.length - 1) / 2)]!,
        againstBaseline: ratio && { value: ratio.value, low: ratio.low, high: ratio.high },
        fate: screening.finalists.includes(one.id) ? "finalist" : (one.stopped ?? "stayed, not among the finalists"),
      };
    })
    .sort((a, b) => (a.wallMsPerItem ?? Number.MAX_VALUE) - (b.wallMsPerItem ?? Number.MAX_VALUE) || (a.name < b.name ? -1 : 1));
}

function runRow(view: VisitView, name: string, targets: Targets): Verdict["runs"][number] {
  const { record, latencyMs } = view;
  const at = (share: number): number | null => latencyMs[Math.ceil(latencyMs.length * share) - 1] ?? null;
  const reasons = faultsOf(view, targets.threads);
  return {
    candidate: record.id,
    name,
    purpose: record.purpose,
    block: record.block,
    ratePerSecond: record.ratePerSecond,
    seed: record.seed,
    scheduled: view.scheduled,
    valid: reasons.length === 0,
    reasons,
    tainted: view.tainted,
    lagP99Ms: view.lagP99Ms,
    stalls: view.stalls,
    stolenRatio: view.stolenRatio,
    cpuSecondsPerSecond: cpuUse(view),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    ledger: Object.fromEntries(Object.entries(view.ledger).filter(([, n]) => n > 0)),
  };
}

/** A baseline that is no better than one answer for every item was asked wrongly, most often. */
function blindness({ name, accuracy }: Verdict["candidates"][number], { blind, betterIs }: Evidence["run"]["metric"]): string | null {
  if (accuracy === null || blind === undefined) return null;
  const { value } = accuracy.value;
  if (betterIs === "higher" ? value > blind : value < blind) return null;
  return `${name} has a ${accuracy.metric} of ${figure(value, 4)}; the same answer for every item would have ${figure(blind, 4)}: check data.inputs, data.labels and data.score`;
}

/**
 * The verdict on a run.
 * @param version the version of Assay that decides
 */
export function decide(evidence: Evidence, version: string): Verdict {
  const { run } = evidence;
  const { judged, question } = judgeAll(evidence);
  const { workload, targets } = question;
  const rate = workload.traffic.ratePerSecond ?? null;
  const names = new Map(run.candidates.map(({ id, name }) => [id, name]));
  const ranked = [
    judged[0]!,
    ...judged
      .slice(1)
      .sort((a, b) => (a.cost?.value ?? Number.MAX_VALUE) - (b.cost?.value ?? Number.MAX_VALUE) || a.verdict.changes - b.verdict.changes),
  ];
  const failedBuilds = evidence.builds.filter(({ outcome }) => outcome === "failed" || outcome === "skipped");
  const screened = evidence.screening?.visited ?? [];
  const removed: Verdict["funnel"]["removed"] = [
    ...run.excluded,
    ...failedBuilds.map(({ model, route, failure }) => ({
      stage: "build" as const,
      name: `${model} · ${route}`,
      reason: failure ?? "unknown",
    })),
    ...screened.flatMap(({ id, stopped }) =>
      stopped === null || evidence.screening!.finalists.includes(id)
        ? []
        : [{ stage: "screen" as const, name: names.get(id)!, reason: stopped }],
    ),
  ];
  const answer = answerOf(judged, { ratePerSecond: rate, priced: workload.hardware.hourlyUsd !== undefined });
  const blind = blindness(judged[0]!.verdict, run.metric);
  if (blind !== null) answer.reasons.unshift(blind);
  const spentSeconds = (evidence.ends.at(-1)?.spentMs ?? 0) / 1000;
  const winner = answer.kind === "winner" ? judged.find(({ verdict: { id } }) => id === answer.candidate)?.verdict : undefined;
  const verdict: Verdict = {
    apiVersion: "assay/verdict/v1",
    decidedBy: version,
    workload: {
      name: workload.name,
      digest: run.workloadDigest,
      class: workload.class,
      ratePerSecond: rate,
      targets: targetsInWords(workload),
    },
    answer,
    smallestDifference: smallestDifference(judged),
    payBack: payBackOf(workload, winner, judged[0]!.verdict, spentSeconds),
    baseline: run.candidates[0]!.id,
    candidates: ranked.map((one) => one.verdict),
    funnel: {
      enumerated: run.enumerated,
      removed,
      screened: screened.filter(({ visits }) => visits.length > 0).length,
      finalists: judged.length,
    },
    screening: screeningRows(evidence),
    builds: evidence.builds.map(({ model, route, outcome, failure, startMs, lengthMs, phases, bytes, digest }) => ({
      model,
      route,
      outcome,
      detail: failure ?? "",
      startMs,
      lengthMs,
      phases,
      bytes,
      digest,
    })),
    runs: evidence.visits.map((view) => runRow(view, names.get(view.record.id) ?? view.record.id, targets)),
    profiles: evidence.profiles.map(({ id, runUs, operators }) => ({ id, name: names.get(id) ?? id, runUs, operators })),
    statedNotUsed: run.statedNotUsed,
    openConditions: run.openConditions,
    gatesNotAsked: ["robustness", "security", "operations", ...(question.accuracy ? [] : ["accuracy"])],
    repeat: {
      command: run.command,
      rootSeed: run.rootSeed,
      machine: run.machine,
      versions: run.versions,
      digests: run.digests,
      spentSeconds,
      budgetSeconds: run.budgetMs / 1000,
    },
  };
  return verdictSchema.parse(roundNumbers(verdict as unknown as Json));
}
