/**
 * From judged finalists to the answer. Cost decides among those that pass both gates; where intervals
 * of cost overlap the simplest is proposed, and nothing slower than the default is ever proposed for
 * its speed. A proposal other than the baseline must have been confirmed.
 */
import { figure } from "../base/index.ts";
import { peakWhereCheaper } from "../cost/index.ts";
import { pairsToSee, type PairedRatio } from "../stats/index.ts";
import type { CostFigures } from "./figures.ts";
import type { CandidateVerdict, Verdict } from "./verdict.ts";

export interface Judged {
  verdict: CandidateVerdict;
  /** In units of one replica's price, whether a price is known or not. */
  cost: CostFigures | null;
  /** How far a target is missed; 1 or below = not. */
  overshoot: number;
  latency: PairedRatio | null;
  cpu: PairedRatio | null;
  /** Runs at the rate so far. */
  runs: number;
}
export type Answer = Verdict["answer"];

const gatesOf = ({ verdict }: Judged) => [verdict.performance.result, verdict.accuracyGate.result];
const passes = (one: Judged): boolean => gatesOf(one).every((result) => result === "pass" || result === "not-asked");
const fails = (one: Judged): boolean => gatesOf(one).includes("fail");
/** Measurably slower than the baseline, by wall and by CPU time, where all candidates are asked at once. */
const slower = ({ latency, cpu, verdict: { against } }: Judged): boolean =>
  latency !== null && latency.value > 1 && against?.differs.latency === true && (cpu === null || (cpu.value > 1 && against.differs.cpu));

const simplest = (some: readonly Judged[]): Judged =>
  [...some].sort(
    (a, b) => a.verdict.changes - b.verdict.changes || a.cost!.value - b.cost!.value || (a.verdict.name < b.verdict.name ? -1 : 1),
  )[0]!;

/** The candidate that would be proposed, and those whose cost it cannot be told from; null when none passes. */
export function proposal(judged: readonly Judged[]): { proposed: Judged; tied: Judged[] } | null {
  const eligible = judged.filter((one) => passes(one) && one.cost !== null && (one.verdict.role === "baseline" || !slower(one)));
  const [leader] = [...eligible].sort((a, b) => a.cost!.value - b.cost!.value || a.verdict.changes - b.verdict.changes);
  if (!leader) return null;
  const tied = eligible.filter((one) => one === leader || (one.cost!.low ?? 0) <= leader.cost!.high!);
  return { proposed: simplest(tied), tied };
}

function reasonsOf({ verdict }: Judged): string[] {
  const said = (what: string, gate: CandidateVerdict["performance"]): string[] =>
    gate.result === "fail" || gate.result === "cannot-tell"
      ? gate.reasons.slice(0, 2).map((reason) => `${verdict.name}: ${what}${reason}`)
      : [];
  return [...said("", verdict.performance), ...said("accuracy: ", verdict.accuracyGate)];
}

/** About how many more runs would decide what is open. */
function moreRuns(open: readonly Judged[]): number | null {
  const wanted = open.map((one) => (one.latency ? pairsToSee(one.latency.logSd, Math.log(1.1)) : Math.max(5, one.runs)));
  return wanted.length === 0 ? null : Math.min(200, Math.max(3, ...wanted));
}

function cheaperFrom(tied: readonly Judged[], proposed: Judged): string | null {
  const own = proposed.verdict.capacity?.lowPerSecond ?? 0;
  const others = tied.flatMap((one) => {
    const peak =
      one === proposed ? null : peakWhereCheaper(one.verdict.capacity?.lowPerSecond ?? 0, proposed.verdict.capacity?.highPerSecond ?? own);
    return peak === null ? [] : [{ name: one.verdict.name, peak, capacity: one.verdict.capacity!.lowPerSecond }];
  });
  const [best] = others.sort((a, b) => b.capacity - a.capacity);
  return best ? `Above a peak of about ${figure(best.peak)} requests/s ${best.name} would need fewer replicas.` : null;
}

/** The answer. `ratePerSecond` null = no peak was stated. */
export function answerOf(judged: readonly Judged[], { ratePerSecond, priced }: { ratePerSecond: number | null; priced: boolean }): Answer {
  const [baseline] = judged as [Judged];
  const at = ratePerSecond === null ? "at the capacity of one replica" : `at ${ratePerSecond} requests/s`;
  const money = ({ verdict, cost }: Judged): string =>
    verdict.cost
      ? `$${figure(verdict.cost.perMillionGoodUsd.value)} per million good requests`
      : `${cost!.replicas} ${cost!.replicas === 1 ? "replica" : "replicas"}`;
  const found = proposal(judged);
  const undecided = judged.filter((one) => !passes(one) && !fails(one));
  const cannotTell = (sentence: string, reasons: string[], open: readonly Judged[]): Answer => ({
    kind: "cannot-tell",
    candidate: null,
    name: null,
    sentence,
    next: "Measure more: raise budget.wallSeconds, or run again on a quieter host.",
    reasons,
    moreRuns: moreRuns(open),
  });
  if (!found) {
    if (undecided.length > 0) {
      return cannotTell(
        `Cannot tell yet: no candidate is shown to meet the targets ${at}, and ${undecided.length} may.`,
        undecided.flatMap(reasonsOf),
        undecided,
      );
    }
    const nearest = [...judged].sort((a, b) => a.overshoot - b.overshoot);
    return {
      kind: "none-meets",
      candidate: null,
      name: null,
      sentence: `No candidate meets the targets ${at}; the nearest is ${nearest[0]!.verdict.name}.`,
      next: "Relax the target that fails, lower the rate of one replica, or give it more cores.",
      reasons: nearest.flatMap(reasonsOf),
      moreRuns: null,
    };
  }
  const { proposed, tied } = found;
  const { verdict } = proposed;
  const isBaseline = proposed === baseline;
  if (!isBaseline && verdict.confirmed !== "yes") {
    const why =
      verdict.confirmed === "no" ? "a fresh build under fresh seeds did not repeat it" : "there was no time to confirm it on a fresh build";
    return cannotTell(`Cannot tell yet: ${verdict.name} looks best ${at}, but ${why}.`, [...reasonsOf(proposed)], [proposed]);
  }
  const common = { candidate: verdict.id, name: verdict.name, moreRuns: null };
  const others = judged.filter((one) => one !== proposed).flatMap(reasonsOf);
  const unpriced = priced ? [] : ["No price is stated (hardware.hourlyUsd): candidates are ordered by the machine time they need."];
  const names = tied.filter((one) => one !== proposed).map((one) => one.verdict.name);
  const same = names.length === 0 ? "" : names.length === 1 ? `${names[0]} costs the same` : `${names.length} others cost the same`;
  const later = cheaperFrom(tied, proposed);
  const reasons = [...(later ? [later] : []), ...unpriced, ...others];
  if (isBaseline && same) {
    return {
      ...common,
      kind: "no-difference",
      sentence: `No measurable difference ${at}: ${verdict.name} meets the targets at ${money(proposed)}, and ${same}; keep what you have, it is the simplest.`,
      next: "Change nothing for cost at this rate.",
      reasons,
    };
  }
  if (isBaseline) {
    return {
      ...common,
      kind: "keep",
      sentence: `Keep what you have: ${verdict.name} meets the targets ${at} at ${money(proposed)}, and nothing measured is cheaper.`,
      next: "Change nothing.",
      reasons,
    };
  }
  const saving = proposed.cost && baseline.cost && passes(baseline) ? ` instead of ${money(baseline)}` : "";
  return {
    ...common,
    kind: "winner",
    sentence: `${verdict.name} meets the targets ${at} at ${money(proposed)}${saving}; a fresh build under fresh seeds confirmed it.${same ? ` ${same[0]!.toUpperCase()}${same.slice(1)}; it is the simplest of them.` : ""}`,
    next: `Use ${verdict.name}.`,
    reasons,
  };
}
