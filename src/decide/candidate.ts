/** One finalist judged: its gates, figures and cost, and its ratios to the baseline. */
import { figure } from "../base/index.ts";
import type { CandidateRecord, Evidence } from "../bench/index.ts";
import { holm } from "../stats/index.ts";
import { latencyTargets, threadsOf, workloadSchema, type Workload } from "../workload/index.ts";
import { judgeAccuracy, type AccuracyTargets, type Looks } from "./accuracy.ts";
import type { Judged } from "./answer.ts";
import { capacityFigures, costOf, cpuInterval, latencyOf, pairs, usable, visitsOf } from "./figures.ts";
import { judgeRate, type Targets } from "./targets.ts";
import type { CandidateVerdict, Gate } from "./verdict.ts";

export interface Question {
  workload: Workload;
  targets: Targets;
  accuracy: AccuracyTargets | null;
}

export function questionOf({ run }: Evidence): Question {
  const workload = workloadSchema.parse(run.workload);
  const { accuracy } = workload;
  const targets: Targets = {
    latency: latencyTargets(workload),
    successRatio: workload.targets.successRatio ?? null,
    threads: threadsOf(workload, Number(run.machine["cores"] ?? 1)),
  };
  const { minimum = null, maxDrop = null, closeness = null } = accuracy ?? {};
  return { workload, targets, accuracy: accuracy ? { minimum, maxDrop, closeness } : null };
}

const gateOf = ({ outcome, reasons }: ReturnType<typeof judgeRate>): Gate => ({
  result: outcome === "invalid" ? "cannot-tell" : outcome,
  reasons,
});

/** Whether the fresh build of a candidate repeated the result. */
function confirmation(evidence: Evidence, id: string, { targets, accuracy }: Question): CandidateVerdict["confirmed"] {
  const visits = visitsOf(evidence, id, "confirm");
  const looks = evidence.accuracies.filter(({ record }) => record.id === id && record.purpose === "confirm").slice(-1);
  if (visits.length === 0 || looks.length === 0) return "not-needed";
  const fresh = looks[0]!.record.artifactDigest;
  const own = visits.filter(({ record }) => record.artifactDigest === fresh);
  const right = judgeAccuracy({ ...looksAt(evidence, id), own: looks }, accuracy, evidence.run).gate.result;
  return judgeRate(own, targets).outcome === "pass" && (right === "pass" || right === "not-asked") ? "yes" : "no";
}

/** Everything the accuracy gate of a candidate looks at. */
export function looksAt(evidence: Evidence, id: string): Looks {
  const { candidates } = evidence.run;
  const looksOf = (one: string) => evidence.accuracies.filter(({ record }) => record.id === one && record.purpose === "first");
  const model = candidates.find((one) => one.id === id)?.model;
  const source = candidates.find((one) => one.model === model && one.role !== "challenger" && one.route === "fp32");
  return {
    own: looksOf(id),
    baseline: looksOf(candidates[0]!.id),
    source: source && looksOf(source.id)[0],
    sourceName: source?.name ?? "",
  };
}

function judgeCandidate(evidence: Evidence, candidate: CandidateRecord, question: Question): Judged {
  const { workload, targets, accuracy } = question;
  const { id } = candidate;
  const baselineId = evidence.run.candidates[0]!.id;
  const rate = workload.traffic.ratePerSecond ?? null;
  const atRate = usable(visitsOf(evidence, id, "rate"), targets);
  const finding = judgeRate(visitsOf(evidence, id, "rate"), targets);
  const found = capacityFigures(evidence, id, targets);
  const accurate = judgeAccuracy(looksAt(evidence, id), accuracy, evidence.run);

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
      differs: { latency: false, cpu: false },
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

/** A finalist with its ratios of capacity and cost to the baseline's. */
function besideBaseline(judged: Judged, { verdict: base }: Judged): Judged {
  const { verdict } = judged;
  if (!verdict.against) return judged;
  const [own, its] = [verdict.capacity, base.capacity];
  const [cost, itsCost] = [verdict.cost?.perMillionGoodUsd, base.cost?.perMillionGoodUsd];
  const over = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a / b);
  const capacity =
    own && its && own.lowPerSecond > 0 && its.lowPerSecond > 0
      ? {
          value: own.lowPerSecond / its.lowPerSecond,
          low: over(own.lowPerSecond, its.highPerSecond),
          high: over(own.highPerSecond, its.lowPerSecond),
        }
      : null;
  const ratio =
    cost && itsCost ? { value: cost.value / itsCost.value, low: over(cost.low, itsCost.high), high: over(cost.high, itsCost.low) } : null;
  return { ...judged, verdict: { ...verdict, against: { ...verdict.against, capacity, cost: ratio } } };
}

/** Marks the ratios that stay told from 1 when all are asked at once. */
function markDifferences(judged: readonly Judged[]): void {
  for (const what of ["latency", "cpu"] as const) {
    const asked = judged.filter((one) => one[what] !== null);
    const told = holm(asked.map((one) => one[what]!.pValue));
    for (const [at, { verdict }] of asked.entries()) verdict.against!.differs[what] = told[at]!;
  }
}

/** Every finalist judged, baseline first. */
export function judgeAll(evidence: Evidence): { judged: Judged[]; question: Question } {
  const question = questionOf(evidence);
  const byId = new Map(evidence.run.candidates.map((candidate) => [candidate.id, candidate]));
  const ids = evidence.screening?.finalists ?? [evidence.run.candidates[0]!.id];
  const [baseline, ...others] = ids.map((id) => judgeCandidate(evidence, byId.get(id)!, question)) as [Judged, ...Judged[]];
  markDifferences(others);
  return { judged: [baseline, ...others.map((one) => besideBaseline(one, baseline))], question };
}
