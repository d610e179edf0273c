/** What a visit proves about the targets: met, missed, or nothing. Fails closed. */
import { figure } from "../base/index.ts";
import type { StepOutcome, VisitView } from "../bench/index.ts";
import { sustainedDrift } from "../load/index.ts";
import { certifiedUpperBound, percentileInterval, sampleFloor, wilsonInterval } from "../stats/index.ts";
import { latencyTargets, type Workload } from "../workload/index.ts";

export interface Targets {
  /** [percent, milliseconds]. */
  latency: readonly (readonly [number, number])[];
  /** Lowest share of successes, 0–1; null = none stated. */
  successRatio: number | null;
  /** CPU seconds a second that the server may use. */
  threads: number;
}

export interface Finding {
  outcome: StepOutcome;
  /** One sentence each, the worst first. */
  reasons: string[];
  /** The largest factor by which a target is missed; 1 or below when none is. */
  overshoot: number;
}

/** A reading of /proc is good to a clock tick: this much above the threads is no breach. */
const cpuTolerance = 1.05;

const percentName = (percent: number): string => `p${percent}`;

/** CPU seconds a second of the server during the visit; null where the system does not tell. */
export function cpuUse({ record }: VisitView): number | null {
  return record.cpuSeconds === null ? null : record.cpuSeconds / record.wallSeconds;
}

/** Why the visit may not be used, the local host's rule on CPU included; empty = it may. */
export function faultsOf(view: VisitView, threads: number): string[] {
  const use = cpuUse(view);
  const greedy =
    use !== null && use > threads * cpuTolerance ? [`the server used ${figure(use)} cores, hardware.threads is ${threads}`] : [];
  return [...(view.valid ? [] : view.reasons), ...greedy];
}

interface Check {
  verdict: "met" | "missed" | "unclear";
  reason: string;
  overshoot: number;
}

function checkLatency(sorted: Float64Array, [percent, limitMs]: readonly [number, number]): Check {
  const name = percentName(percent);
  const certified = certifiedUpperBound(sorted, percent / 100);
  if (certified !== null && certified <= limitMs)
    return { verdict: "met", reason: `${name} ≤ ${figure(certified)} ms (target ${limitMs} ms)`, overshoot: certified / limitMs };
  const interval = percentileInterval(sorted, percent / 100);
  const overshoot = (interval?.value ?? certified ?? Number.POSITIVE_INFINITY) / limitMs;
  if (interval && interval.low !== null && interval.low > limitMs) {
    return { verdict: "missed", reason: `${name} is ${figure(interval.value)} ms, target ${limitMs} ms`, overshoot };
  }
  const why =
    certified === null
      ? `${sorted.length} requests are too few to certify ${name}`
      : `${name} is only certified ≤ ${figure(certified)} ms, target ${limitMs} ms`;
  return { verdict: "unclear", reason: why, overshoot };
}

function checkSuccess(succeeded: number, scheduled: number, target: number): Check {
  const { value, low, high } = wilsonInterval(succeeded, scheduled) ?? { value: 0, low: 0, high: 1 };
  const overshoot = (1 - value) / Math.max(1e-9, 1 - target);
  const said = `${figure(100 * value)} % of the requests succeeded, target ${figure(100 * target)} %`;
  if (low >= target) return { verdict: "met", reason: said, overshoot };
  return {
    verdict: high < target ? "missed" : "unclear",
    reason: high < target ? said : `${said}: ${scheduled} requests cannot tell`,
    overshoot,
  };
}

function combine(checks: readonly Check[], unclear: StepOutcome, missed: StepOutcome): Finding {
  const worst = [...checks].sort((a, b) => b.overshoot - a.overshoot);
  const bad = worst.filter((check) => check.verdict === "missed");
  const open = worst.filter((check) => check.verdict === "unclear");
  const overshoot = worst[0]?.overshoot ?? 0;
  if (bad.length > 0) return { outcome: missed, reasons: bad.map((check) => check.reason), overshoot };
  if (open.length > 0) return { outcome: unclear, reasons: open.map((check) => check.reason), overshoot };
  return { outcome: "pass", reasons: worst.map((check) => check.reason), overshoot };
}

/** Least share of the requests that no stall touched, for them to speak for the server alone. */
const calmShare = 0.3;

/** What a miss proves: a miss that vanishes without the requests touched by host stalls says nothing of the server. */
function withoutStalls(found: Finding, calmFound: () => Finding | null): Finding {
  if (found.outcome !== "fail") return found;
  const calm = calmFound();
  if (calm !== null && calm.outcome === "fail") return found;
  const why = calm === null ? "host stalls touched most requests" : "without the requests that host stalls touched it is not missed";
  return { ...found, outcome: "cannot-tell", reasons: found.reasons.map((reason) => `${reason}; ${why}`) };
}

/** One step of the search for the capacity: a step passes only when every target is certified in it. */
export function judgeStep(view: VisitView, targets: Targets): Finding {
  const faults = faultsOf(view, targets.threads);
  if (faults.length > 0) return { outcome: "invalid", reasons: faults, overshoot: 0 };
  const judge = (sorted: Float64Array): Finding => {
    const checks = targets.latency.map((target) => checkLatency(sorted, target));
    if (targets.successRatio !== null) checks.push(checkSuccess(view.succeeded, view.scheduled, targets.successRatio));
    return combine(checks, "fail", "fail");
  };
  const calm = view.calmLatencyMs;
  const found = withoutStalls(judge(view.latencyMs), () => (calm.length < calmShare * view.scheduled ? null : judge(calm)));
  if (view.drift <= sustainedDrift) return found;
  const reason = `latency grew by ${figure(1000 * view.drift)} ms each second: the rate is above what the server sustains`;
  return {
    outcome: "fail",
    reasons: [reason, ...(found.outcome === "pass" ? [] : found.reasons)],
    overshoot: Math.max(found.overshoot, 1 + view.drift),
  };
}

/** The gate at one rate over all its visits, requests pooled. */
export function judgeRate(views: readonly VisitView[], targets: Targets): Finding {
  const usable = views.filter((view) => faultsOf(view, targets.threads).length === 0);
  if (usable.length === 0) {
    const [first] = views;
    const why = first ? `no valid run: ${faultsOf(first, targets.threads).join("; ")}` : "not measured end to end";
    return { outcome: "cannot-tell", reasons: [why], overshoot: Number.POSITIVE_INFINITY };
  }
  const sum = (pick: (view: VisitView) => number): number => usable.reduce((total, view) => total + pick(view), 0);
  const scheduled = sum((view) => view.scheduled);
  const succeeded = sum((view) => view.succeeded);
  const judge = (pooled: Float64Array): Finding => {
    const checks = targets.latency.map((target) => checkLatency(pooled, target));
    if (targets.successRatio !== null) checks.push(checkSuccess(succeeded, scheduled, targets.successRatio));
    return combine(checks, "cannot-tell", "fail");
  };
  return withoutStalls(judge(pool(usable)), () => {
    const calm = pool(usable, (view) => view.calmLatencyMs);
    return calm.length < calmShare * scheduled ? null : judge(calm);
  });
}

/** All latencies of those visits, ascending. */
export function pool(views: readonly VisitView[], pick: (view: VisitView) => Float64Array = (view) => view.latencyMs): Float64Array {
  const joined = new Float64Array(views.reduce((sum, view) => sum + pick(view).length, 0));
  let at = 0;
  for (const view of views) {
    joined.set(pick(view), at);
    at += pick(view).length;
  }
  return joined.sort();
}

/** Requests beyond the least that can certify: arrivals are random, and one request may be slow. */
const spare = 1.15;

/** Requests that can certify every latency target, and a success ratio where none fails: n ≥ z² · r ÷ (1 − r) by Wilson. */
export function requestsNeeded(workload: Workload): number {
  const floors = latencyTargets(workload).map(([percent]) => sampleFloor(percent / 100));
  const ratio = workload.targets.successRatio;
  const success = ratio === undefined || ratio >= 1 ? 0 : (1.96 ** 2 * ratio) / (1 - ratio);
  return Math.ceil(spare * Math.max(100, success, ...floors));
}
