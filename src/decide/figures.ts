/** The figures of one finalist, and of it against the baseline in the blocks they were measured side by side. */
import { capacityOf, type Capacity, type CapacityStep, type Evidence, type VisitView } from "../bench/index.ts";
import { servingCost, type ServingDemand } from "../cost/index.ts";
import {
  certifiedUpperBound,
  meanAndSd,
  meanInterval,
  pairedRatio,
  percentile,
  percentileCurve,
  percentileInterval,
  wilsonInterval,
  type PairedRatio,
} from "../stats/index.ts";
import { faultsOf, judgeStep, pool, type Targets } from "./targets.ts";
import type { CandidateVerdict } from "./verdict.ts";

export const usable = (views: readonly VisitView[], targets: Targets): VisitView[] =>
  views.filter((view) => faultsOf(view, targets.threads).length === 0);

export const visitsOf = (evidence: Evidence, id: string, purpose: VisitView["record"]["purpose"]): VisitView[] =>
  evidence.visits.filter(({ record }) => record.id === id && record.purpose === purpose);

const medianOf = (view: VisitView): number => percentile(view.latencyMs, 0.5) ?? Number.NaN;

/** CPU milliseconds of the server's processes a request, warm-up counted on both sides; null where the system does not tell. */
export function cpuMsOf({ record, scheduled }: VisitView): number | null {
  const { windowMs } = record.context as { windowMs: number };
  return record.cpuSeconds === null || scheduled === 0 ? null : (1000 * record.cpuSeconds) / (scheduled * (1 + record.warmUpMs / windowMs));
}

export function latencyOf(views: readonly VisitView[], targets: Targets): CandidateVerdict["latency"] {
  const [first] = views;
  if (!first) return null;
  const all = pool(views);
  const calm = pool(views, (view) => view.calmLatencyMs);
  const sum = (pick: (view: VisitView) => number): number => views.reduce((total, view) => total + pick(view), 0);
  const scheduled = sum((view) => view.scheduled);
  const wanted = [...new Set([50, 90, 99, ...targets.latency.map(([percent]) => percent)])].sort((a, b) => a - b);
  const success = wilsonInterval(
    sum((view) => view.succeeded),
    scheduled,
  )!;
  const told = views.filter((view) => view.stages !== null);
  const stages = (["client", "network", "queue", "compute"] as const).map((stage) => {
    const means = told.map((view) => view.stages!.mean[stage]);
    const slow = told.map((view) => view.stages!.above95[stage]);
    const total = (which: "mean" | "above95"): number =>
      told.reduce((acc, view) => acc + Object.values(view.stages![which]).reduce((a, b) => a + b, 0), 0);
    const interval = meanInterval(means);
    const { mean } = meanAndSd(means.length > 0 ? means : [0]);
    return {
      stage,
      meanMs: { value: mean, low: interval && Math.max(0, interval.low), high: interval && interval.high },
      shareOfMean: total("mean") > 0 ? means.reduce((a, b) => a + b, 0) / total("mean") : 0,
      shareAboveP95: total("above95") > 0 ? slow.reduce((a, b) => a + b, 0) / total("above95") : null,
    };
  });
  const ledger: Record<string, number> = {};
  for (const view of views) for (const [name, n] of Object.entries(view.ledger)) if (n > 0) ledger[name] = (ledger[name] ?? 0) + n;
  return {
    ratePerSecond: first.record.ratePerSecond,
    runs: views.length,
    requests: scheduled,
    percentiles: wanted.map((percent) => {
      const { value, low, high } = percentileInterval(all, percent / 100)!;
      return {
        percentile: percent,
        ms: value,
        low,
        high,
        certifiedMs: certifiedUpperBound(all, percent / 100),
        withoutStallsMs: percentile(calm, percent / 100),
        targetMs: targets.latency.find(([p]) => p === percent)?.[1] ?? null,
      };
    }),
    curve: percentileCurve(all),
    success: { ...success, target: targets.successRatio },
    ledger,
    stages: told.length > 0 ? stages : [],
  };
}

/** The steps of a candidate's capacity, judged, and what they prove; null when none was taken. */
export function capacityFigures(
  evidence: Evidence,
  id: string,
  targets: Targets,
): { capacity: Capacity; steps: CapacityStep[]; limitedBy: string | null } | null {
  const start = evidence.probes.get(id);
  const views = visitsOf(evidence, id, "capacity");
  if (start === undefined || views.length === 0) return null;
  const judged = views.map((view) => ({ view, finding: judgeStep(view, targets) }));
  const steps = judged.map(({ view, finding }): CapacityStep => ({ ratePerSecond: view.record.ratePerSecond, outcome: finding.outcome }));
  const ended =
    evidence.ends.some(({ stage, reason }) => stage === "capacity" && reason === "budget") ||
    !evidence.ends.some(({ stage }) => stage === "capacity");
  const capacity = capacityOf(steps, start, ended);
  const [limit] = judged
    .filter(({ finding }) => finding.outcome === "fail")
    .sort((a, b) => a.view.record.ratePerSecond - b.view.record.ratePerSecond);
  return { capacity, steps, limitedBy: limit?.finding.reasons[0] ?? null };
}

export interface CostFigures {
  replicas: number;
  value: number;
  low: number | null;
  high: number | null;
  basis: string;
}

/** What a candidate costs when it carries between `low` and `high` (null = not bounded) requests a second. */
export function costOf(demand: ServingDemand, low: number, high: number | null, hourlyUsd: number): CostFigures | null {
  const dear = servingCost(demand, low, hourlyUsd);
  if (!dear) return null;
  const cheap = high === null ? null : servingCost(demand, high, hourlyUsd);
  // One replica is the least there is: nothing beyond it makes a request cheaper at a stated peak.
  const least = demand.peakPerSecond !== null && dear.replicas === 1 ? dear.perMillionGoodUsd : (cheap?.perMillionGoodUsd ?? null);
  const basis =
    demand.peakPerSecond === null
      ? "one replica, busy to its capacity"
      : `${dear.replicas} ${dear.replicas === 1 ? "replica" : "replicas"} for ${demand.peakPerSecond} requests/s at 80 % of the capacity, paid whether busy or not`;
  return { replicas: dear.replicas, value: dear.perMillionGoodUsd, low: least, high: dear.perMillionGoodUsd, basis };
}

/** Ratios to the baseline over the blocks in which both were measured. */
export function pairs(
  evidence: Evidence,
  id: string,
  baseline: string,
  targets: Targets,
): { latency: PairedRatio | null; cpu: PairedRatio | null; count: number } {
  const blocks = usable([...visitsOf(evidence, id, "rate"), ...visitsOf(evidence, id, "confirm")], targets).flatMap((view) => {
    const beside = usable(visitsOf(evidence, baseline, view.record.purpose), targets).find(
      ({ record }) => record.block === view.record.block,
    );
    return beside ? [[view, beside] as const] : [];
  });
  const cpu = blocks.flatMap(([a, b]) => {
    const [x, y] = [cpuMsOf(a), cpuMsOf(b)];
    return x !== null && y !== null && x > 0 && y > 0 ? [[x, y] as const] : [];
  });
  return { latency: pairedRatio(blocks.map(([a, b]) => [medianOf(a), medianOf(b)] as const)), cpu: pairedRatio(cpu), count: blocks.length };
}

export const cpuInterval = (views: readonly VisitView[]): CandidateVerdict["cpuMsPerRequest"] => {
  const values = views.map(cpuMsOf).filter((value) => value !== null);
  if (values.length === 0) return null;
  const interval = meanInterval(values);
  return { value: meanAndSd(values).mean, low: interval && Math.max(0, interval.low), high: interval && interval.high };
};
