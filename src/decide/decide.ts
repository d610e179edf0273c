/** Evidence → verdict. Pure: the same records and version give the same document. */
import { roundNumbers, type Json } from "../base/index.ts";
import { ratioOverRounds, type CandidateRecord, type Evidence, type Judges, type VisitView } from "../bench/index.ts";
import { smallestVisibleRatio } from "../stats/index.ts";
import { latencyTargets, targetsInWords, threadsOf, workloadSchema, type Workload } from "../workload/index.ts";
import { judgeAccuracy, type AccuracyTargets } from "./accuracy.ts";
import { answerOf, proposal, type Judged } from "./answer.ts";
import { capacityFigures, costOf, cpuInterval, latencyOf, pairs, usable, visitsOf } from "./figures.ts";
import { cpuUse, faultsOf, judgeRate, judgeStep, type Targets } from "./targets.ts";
import { verdictSchema, type CandidateVerdict, type Gate, type Verdict } from "./verdict.ts";

interface Question {
  workload: Workload;
  targets: Targets;
  accuracy: AccuracyTargets | null;
}

function questionOf({ run }: Evidence): Question {
  const workload = workloadSchema.parse(run.workload);
  const { accuracy } = workload;
  const targets: Targets = {
    latency: latencyTargets(workload),
    successRatio: workload.targets.successRatio ?? null,
    threads: threadsOf(workload, Number(run.machine["cores"] ?? 1)),
  };
  return { workload, targets, accuracy: accuracy ? { minimum: accuracy.minimum ?? null, maxDrop: accuracy.maxDrop ?? null } : null };
}

const gateOf = ({ outcome, reasons }: ReturnType<typeof judgeRate>): Gate => ({
  result: outcome === "invalid" ? "cannot-tell" : outcome,
  reasons,
});
const figure = (value: number): string => String(Number(value.toPrecision(3)));

/** Whether the fresh build of a candidate repeated the result. */
function confirmation(evidence: Evidence, id: string, { targets, accuracy }: Question): CandidateVerdict["confirmed"] {
  const visits = visitsOf(evidence, id, "confirm");
  const looks = evidence.accuracies.filter(({ record }) => record.id === id && record.purpose === "confirm").slice(-1);
  if (visits.length === 0 || looks.length === 0) return "not-needed";
  const fresh = looks[0]!.record.artifactDigest;
  const own = visits.filter(({ record }) => record.artifactDigest === fresh);
  const baselineLooks = looksOf(evidence, evidence.run.candidates[0]!.id);
  const right = judgeAccuracy(looks, baselineLooks, accuracy, evidence.run).gate.result;
  return judgeRate(own, targets).outcome === "pass" && (right === "pass" || right === "not-asked") ? "yes" : "no";
}

const looksOf = (evidence: Evidence, id: string) =>
  evidence.accuracies.filter(({ record }) => record.id === id && record.purpose === "first");

function judgeCandidate(evidence: Evidence, candidate: CandidateRecord, question: Question): Judged {
  const { workload, targets, accuracy } = question;
  const { id } = candidate;
  const baselineId = evidence.run.candidates[0]!.id;
  const rate = workload.traffic.ratePerSecond ?? null;
  const atRate = usable(visitsOf(evidence, id, "rate"), targets);
  const finding = judgeRate(visitsOf(evidence, id, "rate"), targets);
  const found = capacityFigures(evidence, id, targets);
  const accurate = judgeAccuracy(looksOf(evidence, id), looksOf(evidence, baselineId), accuracy, evidence.run);

  let performance = gateOf(finding);
  if (rate === null && found) {
    const { lowPerSecond, limit } = found.capacity;
    performance =
      lowPerSecond > 0
        ? { result: "pass", reasons: [`every target holds up to ${figure(lowPerSecond)} requests/s`] }
        : { result: limit === "target" ? "fail" : "cannot-tell", reasons: [found.limitedBy ?? "no rate passed"] };
  }
  const peak = atRate.reduce<number | null>(
    (most, { record }) => (record.peakBytes === null ? most : Math.max(most ?? 0, record.peakBytes)),
    null,
  );
  const limitBytes = workload.hardware.memoryMiB === undefined ? null : workload.hardware.memoryMiB * 2 ** 20;
  if (peak !== null && limitBytes !== null && peak > limitBytes) {
    performance = {
      result: "fail",
      reasons: [
        `peak memory is ${figure(peak / 2 ** 20)} MiB, hardware.memoryMiB is ${workload.hardware.memoryMiB}`,
        ...performance.reasons,
      ],
    };
  }
  const passed = performance.result === "pass" && rate !== null ? rate : 0;
  const low = Math.max(found?.capacity.lowPerSecond ?? 0, passed);
  const high = found?.capacity.highPerSecond ?? null;
  const latency = latencyOf(atRate, targets);
  const demand = {
    peakPerSecond: rate,
    meanToPeakRatio: 1 / (workload.traffic.daily?.peakToMean ?? 1),
    goodRatio: latency?.success.value ?? 1,
  };
  const { hourlyUsd } = workload.hardware;
  const unit = costOf(demand, low, high === null ? null : Math.max(high, low), 1);
  const priced = hourlyUsd === undefined ? null : costOf(demand, low, high === null ? null : Math.max(high, low), hourlyUsd);
  const build = evidence.builds.find((one) => one.family === candidate.family && one.purpose === "first");
  const isBaseline = id === baselineId;
  const paired = isBaseline ? null : pairs(evidence, id, baselineId, targets);
  const notes: string[] = [];
  if (paired?.latency && paired.cpu && Math.abs(Math.log(paired.latency.value / paired.cpu.value)) > Math.log(1.2)) {
    notes.push(
      `wall and CPU time disagree: median latency is ${figure(paired.latency.value)} times the baseline's, CPU time ${figure(paired.cpu.value)} times`,
    );
  }
  if (finding.outcome === "pass" && found && found.capacity.lowPerSecond < (rate ?? 0))
    notes.push("the stated rate was met in paired runs; single steps of the capacity search did not certify it");
  const stalled = atRate.filter((view) => view.tainted).length;
  if (stalled > 0) notes.push(`host stalls touched ${stalled} of ${atRate.length} runs at the rate`);
  const verdict: CandidateVerdict = {
    id,
    name: candidate.name,
    role: candidate.role,
    model: candidate.model,
    route: candidate.route,
    settings: candidate.settings,
    changes: candidate.changes,
    artifact: build?.digest
      ? { digest: build.digest, bytes: build.bytes ?? 0, buildMs: build.outcome === "built" ? build.lengthMs : null }
      : null,
    performance,
    accuracyGate: accurate.gate,
    latency,
    capacity: found && { ...found.capacity, limitedBy: found.limitedBy, steps: found.steps },
    cpuMsPerRequest: cpuInterval(atRate),
    peakMemoryBytes: peak,
    cost: priced && {
      replicas: priced.replicas,
      perMillionGoodUsd: { value: priced.value, low: priced.low, high: priced.high },
      basis: priced.basis,
    },
    costUnknown: priced
      ? null
      : hourlyUsd === undefined
        ? "no price is stated (hardware.hourlyUsd)"
        : "no capacity within the targets was measured",
    accuracy: accurate.accuracy,
    against: paired && {
      latency: paired.latency && { value: paired.latency.value, low: paired.latency.low, high: paired.latency.high },
      cpu: paired.cpu && { value: paired.cpu.value, low: paired.cpu.low, high: paired.cpu.high },
      capacity: null,
      cost: null,
      pairs: paired.count,
    },
    confirmed: confirmation(evidence, id, question),
    notes,
  };
  return {
    verdict,
    cost: unit,
    overshoot: finding.overshoot,
    latency: paired?.latency ?? null,
    cpu: paired?.cpu ?? null,
    runs: atRate.length,
  };
}

/** Ratios that need the baseline's own figures. */
function besideBaseline(judged: readonly Judged[]): void {
  const [{ verdict: base }] = judged as [Judged];
  for (const { verdict } of judged.slice(1)) {
    if (!verdict.against) continue;
    const [own, its] = [verdict.capacity, base.capacity];
    if (own && its && own.lowPerSecond > 0 && its.lowPerSecond > 0) {
      verdict.against.capacity = {
        value: own.lowPerSecond / its.lowPerSecond,
        low: its.highPerSecond === null ? null : own.lowPerSecond / its.highPerSecond,
        high: own.highPerSecond === null ? null : own.highPerSecond / its.lowPerSecond,
      };
    }
    if (verdict.cost && base.cost) {
      const [a, b] = [verdict.cost.perMillionGoodUsd, base.cost.perMillionGoodUsd];
      verdict.against.cost = {
        value: a.value / b.value,
        low: a.low === null || b.high === null ? null : a.low / b.high,
        high: a.high === null || b.low === null ? null : a.high / b.low,
      };
    }
  }
}

function judgeAll(evidence: Evidence): { judged: Judged[]; question: Question } {
  const question = questionOf(evidence);
  const byId = new Map(evidence.run.candidates.map((candidate) => [candidate.id, candidate]));
  const ids = evidence.screening?.finalists ?? [evidence.run.candidates[0]!.id];
  return { judged: ids.map((id) => judgeCandidate(evidence, byId.get(id)!, question)), question };
}

/** What the run asks in between: see the experiment's `Judges`. */
export const judges: Judges = {
  step: (evidence, view) => judgeStep(view, questionOf(evidence).targets).outcome,
  accurate: (evidence, id) => {
    const { accuracy } = questionOf(evidence);
    const { result } = judgeAccuracy(looksOf(evidence, id), looksOf(evidence, evidence.run.candidates[0]!.id), accuracy, evidence.run).gate;
    return result === "pass" || result === "not-asked";
  },
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
  const percent = (ratio: number): string => `${figure(100 * ratio)} %`;
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
    arm: { id: one.id, family: "", byDefault: false },
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
        batchSize: one.batchSize,
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

/**
 * The verdict on a run.
 * @param version the version of Assay that decides
 */
export function decide(evidence: Evidence, version: string): Verdict {
  const { run } = evidence;
  const { judged, question } = judgeAll(evidence);
  besideBaseline(judged);
  const { workload, targets } = question;
  const rate = workload.traffic.ratePerSecond ?? null;
  const names = new Map(run.candidates.map(({ id, name }) => [id, name]));
  const ranked = [
    judged[0]!,
    ...judged
      .slice(1)
      .sort((a, b) => (a.cost?.value ?? Number.MAX_VALUE) - (b.cost?.value ?? Number.MAX_VALUE) || a.verdict.changes - b.verdict.changes),
  ];
  const failedBuilds = evidence.builds.filter(({ outcome }) => outcome === "failed");
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
    answer: answerOf(judged, { ratePerSecond: rate, priced: workload.hardware.hourlyUsd !== undefined }),
    smallestDifference: smallestDifference(judged),
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
    statedNotUsed: run.statedNotUsed,
    openConditions: run.openConditions,
    gatesNotAsked: ["robustness", "security", "operations", ...(question.accuracy ? [] : ["accuracy"])],
    repeat: {
      command: run.command,
      rootSeed: run.rootSeed,
      machine: run.machine,
      versions: run.versions,
      digests: run.digests,
      spentSeconds: (evidence.ends.at(-1)?.spentMs ?? 0) / 1000,
      budgetSeconds: run.budgetMs / 1000,
    },
  };
  return verdictSchema.parse(roundNumbers(verdict as unknown as Json));
}
