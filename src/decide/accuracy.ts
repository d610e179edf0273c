/** The accuracy gate: the candidate against the baseline on the same holdout items, through the served path. Fails closed. */
import type { AccuracyView, RunRecord } from "../bench/index.ts";
import { figure, randomStream } from "../base/index.ts";
import { bootstrapMean, clopperPearson, meanInterval, pairedProportions, type Interval } from "../stats/index.ts";
import { missedLimits, nearnessOf, type ClosenessLimits } from "./closeness.ts";
import type { CandidateVerdict, Gate } from "./verdict.ts";

export interface AccuracyTargets {
  minimum: number | null;
  /** Largest drop against the baseline, in the metric's own unit and worse direction. */
  maxDrop: number | null;
  closeness: ClosenessLimits | null;
}

/** What a gate looks at. */
export interface Looks {
  /** The candidate's own; for the baseline all of its looks. */
  own: readonly AccuracyView[];
  baseline: readonly AccuracyView[];
  /** Of the same model unchanged. */
  source: AccuracyView | undefined;
  sourceName: string;
}

/** Accuracies differ in the fourth digit. */
const shown = (value: number): string => figure(value, 4);

/** The metric over the items that have a value, with its interval: exact for right-or-wrong, t for means. */
function levelOf({ scores }: AccuracyView, binary: boolean): Interval {
  const values = scores.values.map((value) => value ?? 0);
  if (binary)
    return clopperPearson(Math.round(values.reduce((sum, value) => sum + value, 0)), values.length) ?? { value: 0, low: 0, high: 1 };
  return meanInterval(values) ?? { value: values[0] ?? 0, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
}

interface Pairing {
  differences: number[];
  better: number;
  worse: number;
  same: number;
}

function pairUp(candidate: AccuracyView, baseline: AccuracyView): Pairing {
  const other = new Map(baseline.scores.items.map((item, at) => [item, at]));
  const pairing: Pairing = { differences: [], better: 0, worse: 0, same: 0 };
  for (const [at, item] of candidate.scores.items.entries()) {
    const beside = other.get(item);
    if (beside === undefined) continue;
    const difference = (candidate.scores.values[at] ?? 0) - (baseline.scores.values[beside] ?? 0);
    pairing.differences.push(difference);
    if (difference > 0) pairing.better++;
    if (difference < 0) pairing.worse++;
    if (candidate.scores.predictions[at] === baseline.scores.predictions[beside]) pairing.same++;
  }
  return pairing;
}

/** Interval of candidate − baseline: exact on discordant items for right-or-wrong, paired bootstrap otherwise. */
function differenceOf(pairing: Pairing, run: RunRecord, id: string): Interval {
  if (run.metric.binary) return pairedProportions(pairing.better, pairing.worse, pairing.differences.length);
  return bootstrapMean(pairing.differences, randomStream(run.rootSeed, "bootstrap", id));
}

/** Largest change of the metric between two looks at the baseline: differences below it mean nothing. */
export function noiseFloor(baselineLooks: readonly AccuracyView[]): number {
  const level = ({ scores }: AccuracyView): number =>
    scores.values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / scores.values.length;
  const levels = baselineLooks.map(level);
  return levels.length < 2 ? 0 : Math.max(...levels) - Math.min(...levels);
}

/** The gate and the figures behind it. */
export function judgeAccuracy(
  { own: looks, baseline: baselineLooks, source, sourceName }: Looks,
  targets: AccuracyTargets | null,
  run: RunRecord,
): { gate: Gate; accuracy: CandidateVerdict["accuracy"] } {
  const [look] = looks;
  const [reference] = baselineLooks;
  if (!look || !reference) {
    return targets === null
      ? { gate: { result: "not-asked", reasons: [] }, accuracy: null }
      : { gate: { result: "cannot-tell", reasons: ["the holdout was not measured"] }, accuracy: null };
  }
  const sign = run.metric.betterIs === "higher" ? 1 : -1;
  const level = levelOf(look, run.metric.binary);
  const isBaseline = look.record.id === reference.record.id;
  const pairing = pairUp(look, reference);
  const difference = isBaseline ? null : differenceOf(pairing, run, look.record.id);
  const nearness = nearnessOf(looks.at(-1)!, source, sourceName);
  const batches = new Map<number, number>();
  for (const [size, count] of looks.flatMap(({ record }) => record.batches)) batches.set(size, (batches.get(size) ?? 0) + count);
  const accuracy: CandidateVerdict["accuracy"] = {
    metric: run.metric.name,
    betterIs: run.metric.betterIs,
    value: level,
    difference,
    margin: targets?.maxDrop ?? null,
    minimum: targets?.minimum ?? null,
    items: look.scores.items.length,
    agreement: isBaseline ? null : pairing.same / Math.max(1, pairing.differences.length),
    closeness: nearness?.figures ?? null,
    batches: [...batches].sort((a, b) => a[0] - b[0]),
  };
  const faults = looks.flatMap(({ record }) => record.faults);
  if (faults.length > 0) {
    const [first] = faults;
    return {
      gate: { result: "fail", reasons: [`${faults.length} items without a usable answer; item ${first!.item}: ${first!.reason}`] },
      accuracy,
    };
  }
  if (nearness?.misfit) return { gate: { result: "fail", reasons: [nearness.misfit] }, accuracy };
  if (targets === null) return { gate: { result: "not-asked", reasons: [] }, accuracy };
  const reasons: string[] = [];
  let result: Gate["result"] = "pass";
  const fall = (to: Gate["result"], reason: string): void => {
    reasons.push(reason);
    if (result !== "fail") result = to;
  };
  const { minimum, maxDrop } = targets;
  if (minimum !== null && sign * level.value < sign * minimum)
    fall("fail", `${run.metric.name} is ${shown(level.value)}, ${sign > 0 ? "at least" : "at most"} ${shown(minimum)} is asked`);
  if (maxDrop !== null && difference !== null) {
    const worst = sign > 0 ? difference.low : -difference.high;
    const best = sign > 0 ? difference.high : -difference.low;
    const floor = noiseFloor(baselineLooks);
    if (floor > maxDrop)
      fall("cannot-tell", `the margin ${shown(maxDrop)} is below the noise floor ${shown(floor)} of the baseline itself`);
    else if (best < -maxDrop)
      fall(
        "fail",
        `${run.metric.name} ${sign > 0 ? "drops" : "rises"} by ${shown(-sign * difference.value)}, at most ${shown(maxDrop)} is allowed`,
      );
    else if (worst <= -maxDrop)
      fall(
        "cannot-tell",
        `the ${sign > 0 ? "drop" : "rise"} may be as large as ${shown(-worst)}, at most ${shown(maxDrop)} is allowed: more items are needed`,
      );
  }
  if (targets.closeness && look !== source) {
    const missed = missedLimits(nearness, targets.closeness);
    if (missed === null) fall("cannot-tell", "its answers could not be held against those of the model unchanged");
    for (const reason of missed ?? []) fall("fail", reason);
  }
  if (reasons.length === 0) {
    reasons.push(
      `${run.metric.name} ${shown(level.value)}${difference === null ? "" : `, difference to the baseline between ${shown(difference.low)} and ${shown(difference.high)}`}`,
    );
  }
  return { gate: { result, reasons }, accuracy };
}
