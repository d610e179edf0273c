/**
 * The tuner: finds the fastest arms of a space at a fraction of the cost of measuring them all.
 * Coarse to fine: every family (model × route) at its default settings first, then in the leading
 * families one setting changed at a time in short visits, then those combinations of which no setting
 * was slower alone, then a race of the survivors in rounds, each round measured side by side, in which
 * an arm falls when its paired interval excludes the leader. It knows arms by id, family and settings
 * only, no model and no variant by name. Figures behind the constants: `bench/results/search.md`.
 */
import type { RandomStream } from "../base/index.ts";
import { pairedRatio, type PairedRatio } from "../stats/index.ts";

export interface Arm {
  id: string;
  /** Arms of one family differ in settings only. */
  family: string;
  /** What differs from the defaults, each as name and value; [] = the defaults, the family's first look. */
  settings: readonly string[];
}

export interface ArmVisit {
  /** Cost of one item, lower is better, any unit above 0; null when the arm failed or was cut off. */
  value: number | null;
  /** Why there is no value. */
  reason?: string;
}

export interface SearchSpace {
  arms: readonly Arm[];
  /** Id of candidate 0. It takes part in every round and is never dropped. */
  baseline: string;
  /** Measures an arm. `share` of the full window (0–1]; the visit ends early when one item costs more than `cutOff`. */
  visit(arm: Arm, share: number, cutOff: number | null): Promise<ArmVisit>;
  /** Order of visits. */
  stream: RandomStream;
  /** Full windows that may still be spent; asked before each round. */
  windowsLeft(): number;
  /** Arms wanted at the end, the baseline not counted. */
  keep: number;
}

export interface Visited {
  arm: Arm;
  /** Round, share and value of each visit, in order. */
  visits: { round: number; share: number; value: number | null }[];
  /** Where the arm stopped, in words; null = it stayed to the end. */
  stopped: string | null;
}

export interface SearchResult {
  /** Arms that stayed, fastest first; the baseline is left out unless it leads. */
  ranked: Arm[];
  visited: Visited[];
  /** Full windows spent. */
  windows: number;
}

/** A family, or an arm in the short visits, stays when its cost is within this factor of the best. */
const near = 1.25;
/** One item that costs this many times the leader's ends a visit at once. */
const hopeless = 10;
const shortShare = 0.25;
/** A setting that costs more than this alone is in no combination; below it is the noise of short visits. */
const harmless = 1.05;
/** Looks in short visits. */
const shortLooks = 2;
const leastRounds = 5;
const mostRounds = 40;
/** Repeated looks at a race need more than 95 %: one look in a hundred may err. */
const raceConfidence = 0.99;
/** A race ends when no survivor can beat the leader by more than this. */
const enough = 0.02;

const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

/** Ratio of two arms over the rounds in which both were measured; null below two such rounds. */
export function ratioOverRounds(a: Visited, b: Visited, confidence = 0.95): PairedRatio | null {
  const other = new Map(b.visits.map(({ round, value }) => [round, value]));
  const pairs = a.visits.flatMap(({ round, value }) => {
    const beside = other.get(round);
    return value !== null && beside !== null && beside !== undefined ? [[value, beside] as const] : [];
  });
  return pairedRatio(pairs, confidence);
}

/** Searches the space. Every decision is a function of the values that `visit` gives and of the stream. */
export async function search(space: SearchSpace): Promise<SearchResult> {
  const visited = new Map<string, Visited>(
    space.arms.map((arm) => [arm.id, { arm, visits: [], stopped: "not measured: its family was behind" }]),
  );
  const baseline = visited.get(space.baseline);
  if (!baseline) throw new RangeError("the baseline is not among the arms");
  let windows = 0;
  let round = 0;
  let leader: number | null = null;

  const measure = async (one: Visited, share: number): Promise<void> => {
    const { value, reason } = await space.visit(one.arm, share, leader === null ? null : leader * hopeless);
    windows += share;
    one.visits.push({ round, share, value });
    one.stopped = null;
    if (value === null) one.stopped = reason ?? `cut off: more than ${hopeless} times the leader`;
    else leader = Math.min(leader ?? value, value);
  };
  const measureRound = async (arms: readonly Visited[], share: number): Promise<void> => {
    round++;
    for (const one of space.stream.shuffled(arms)) await measure(one, share);
  };
  const alive = (arms: readonly Visited[]): Visited[] => arms.filter((one) => one.stopped === null);
  const level = (one: Visited): number => geometricMean(one.visits.map(({ value }) => value!));
  const keepNear = (arms: readonly Visited[], what: string): Visited[] => {
    const best = Math.min(...arms.map(level));
    return arms.filter((one) => {
      const factor = level(one) / best;
      if (factor <= near || one === baseline) return true;
      one.stopped = `${what}: ${factor.toPrecision(3)} times the best`;
      return false;
    });
  };

  let families = [...new Set([baseline, ...[...visited.values()].filter(({ arm }) => arm.settings.length === 0)])];
  for (let look = 0; look < 2; look++) {
    await measureRound(families, 1);
    families = alive(families);
  }
  const leading = keepNear(families, "at default settings");
  const names = new Set(
    leading.filter((one) => one !== baseline || level(one) <= near * Math.min(...leading.map(level))).map(({ arm }) => arm.family),
  );

  /** As many as there is time for, the rest set aside. */
  const affordable = (arms: readonly Visited[]): Visited[] => {
    const most = Math.max(0, Math.floor(space.windowsLeft() / (shortLooks * shortShare)));
    for (const one of arms.slice(most)) one.stopped = "not measured: no time for so many";
    return arms.slice(0, most);
  };
  const lookAt = async (arms: readonly Visited[]): Promise<Visited[]> => {
    let fine = affordable(arms);
    for (let look = 0; look < shortLooks && fine.length > 0; look++) {
      await measureRound(fine, shortShare);
      fine = alive(fine);
      const stays = new Set(keepNear([...leading, ...fine], "in short visits"));
      fine = fine.filter((one) => stays.has(one));
    }
    return fine;
  };
  const untried = [...visited.values()].filter((one) => names.has(one.arm.family) && one.visits.length === 0);
  const singles = untried.filter(({ arm }) => arm.settings.length === 1);
  const fine = await lookAt(space.stream.shuffled(singles));

  /** What a setting alone costs in its family, as a factor; 1 where it was not measured alone. */
  const alone = new Map<string, number>();
  for (const one of singles) {
    const base = [...visited.values()].find(({ arm }) => arm.family === one.arm.family && arm.settings.length === 0);
    if (!base || one.visits.length === 0) continue;
    const measured = one.visits.every(({ value }) => value !== null) && base.visits.every(({ value }) => value !== null);
    alone.set(`${one.arm.family} ${one.arm.settings[0]!}`, measured ? level(one) / level(base) : Number.POSITIVE_INFINITY);
  }
  const expected = new Map<Visited, number>();
  for (const one of untried.filter(({ arm }) => arm.settings.length > 1)) {
    const factors = one.arm.settings.map((setting) => [setting, alone.get(`${one.arm.family} ${setting}`) ?? 1] as const);
    const slower = factors.find(([, factor]) => factor > harmless);
    if (slower) one.stopped = `not measured: ${slower[0]} alone was slower`;
    else
      expected.set(
        one,
        factors.reduce((product, [, factor]) => product * factor, 1),
      );
  }
  fine.push(...(await lookAt([...expected.keys()].sort((a, b) => expected.get(a)! - expected.get(b)!))));

  let racers = alive([...new Set([baseline, ...leading, ...fine])]);
  const most = Math.max(space.keep + 1, Math.floor(space.windowsLeft() / leastRounds));
  for (const one of racers
    .filter((racer) => racer !== baseline)
    .sort((a, b) => level(a) - level(b))
    .slice(most)) {
    one.stopped = `in short visits: ${most} others were as fast, and there is no time to race more`;
  }
  racers = alive(racers);
  const start = round;
  const inRace = (one: Visited): Visited => ({ ...one, visits: one.visits.filter((visit) => visit.round > start) });
  const byRace = (a: Visited, b: Visited): number => level(inRace(a)) - level(inRace(b));
  while (racers.length > 1 && round - start < mostRounds && space.windowsLeft() >= racers.length) {
    await measureRound(racers, 1);
    racers = alive(racers).sort(byRace);
    if (round - start < leastRounds) continue;
    const first = racers.find((one) => one !== baseline || racers.length === 1) ?? baseline;
    const best = racers[0]!;
    let open = false;
    racers = racers.filter((one, rank) => {
      if (one === best) return true;
      const against = ratioOverRounds(inRace(one), inRace(best), raceConfidence);
      if (against === null) return true;
      if (against.low < 1 - enough) open = true;
      if (against.low <= 1 || one === baseline || one === first || rank < space.keep) return true;
      one.stopped = `raced: ${against.value.toPrecision(3)} times the leader (${against.low.toPrecision(3)}–${against.high.toPrecision(3)})`;
      return false;
    });
    if (!open) break;
  }
  const ranked = racers.sort((a, b) => (round > start ? byRace(a, b) : level(a) - level(b))).map(({ arm }) => arm);
  return {
    ranked: ranked[0]?.id === space.baseline ? ranked : ranked.filter((arm) => arm.id !== space.baseline),
    visited: [...visited.values()],
    windows,
  };
}
