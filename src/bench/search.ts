/**
 * The tuner: finds the fastest arms of a space at a fraction of the cost of measuring them all.
 * Coarse to fine: every family (model × route) at its default settings first, then in the leading
 * families that are admitted one setting changed at a time in short visits, then those combinations of
 * which no setting was slower alone, then a race of the survivors in rounds, each round measured side
 * by side, whose slower half falls from stage to stage, and any arm whose paired interval excludes the
 * leader. It knows arms by id, family and settings only, no model and no variant by name. Figures
 * behind the constants: `bench/results/search.md` and `bench/results/tuners.md`.
 */
import type { RandomStream } from "../base/index.ts";
import { race } from "./race.ts";
import { alive, bySpeed, level, type Arm, type Visited } from "./visits.ts";

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
  /** Asked once for each leading family, with its first arm: null, or why none of its arms may win. */
  admit?(arm: Arm): Promise<string | null>;
  /** Order of visits. */
  stream: RandomStream;
  /** Full windows that may still be spent; asked before each round. */
  windowsLeft(): number;
  /** Arms wanted at the end, the baseline not counted. */
  keep: number;
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
/** A setting that costs more than this alone is in no combination; one that costs less may still pay beside another. */
const harmless = 1.25;
/** Arms looked at side by side in short visits. */
const batch = 8;
/** What looks at new arms may take of the windows left, so that a race can follow. */
const looksShare = 0.65;
/** Looks before the race. A disturbed one may be half as slow again, so until the last an arm stays within that of `near`. */
const looks = 3;
const disturbed = 1.5;

/** A setting, or several that never come apart: an arm of which no smaller change is an arm. */
function atomsOf(arms: readonly Arm[]): Arm[] {
  const changed = arms.filter(({ settings }) => settings.length > 0).sort((a, b) => a.settings.length - b.settings.length);
  const atoms: Arm[] = [];
  for (const arm of changed) if (!atoms.some((atom) => includes(arm, atom))) atoms.push(arm);
  return atoms;
}
const includes = (arm: Arm, atom: Arm): boolean => atom.settings.every((setting) => arm.settings.includes(setting));

/** Searches the space. Every decision is a function of what `visit` and `admit` give and of the stream. */
export async function search(space: SearchSpace): Promise<SearchResult> {
  const visited = new Map<string, Visited>(
    space.arms.map((arm) => [arm.id, { arm, visits: [], stopped: "not measured: its family was behind" }]),
  );
  const baseline = visited.get(space.baseline);
  if (!baseline) throw new RangeError("the baseline is not among the arms");
  let windows = 0;
  let round = 0;
  /** The least that an arm of an admitted family cost. */
  let leader: number | null = null;
  /** Families → null when admitted, or why not. */
  const asked = new Map<string, string | null>();

  const measure = async (one: Visited, share: number): Promise<void> => {
    const { value, reason } = await space.visit(one.arm, share, leader === null ? null : leader * hopeless);
    windows += share;
    one.visits.push({ round, share, value });
    one.stopped = null;
    if (value === null) one.stopped = reason ?? `cut off: more than ${hopeless} times the leader`;
    else if (one === baseline || asked.get(one.arm.family) === null) leader = Math.min(leader ?? value, value);
  };
  const measureRound = async (arms: readonly Visited[], share: number): Promise<void> => {
    round++;
    for (const one of space.stream.shuffled(arms)) await measure(one, share);
  };
  const keepNear = (arms: readonly Visited[], what: string): Visited[] => {
    const best = Math.min(...arms.map(level));
    return arms.filter((one) => {
      const factor = level(one) / best;
      if (factor <= near * (one.visits.length < looks ? disturbed : 1) || one === baseline) return true;
      one.stopped = `${what}: ${factor.toPrecision(3)} times the best`;
      return false;
    });
  };

  const admit = async (one: Visited): Promise<boolean> => {
    const { family } = one.arm;
    if (!asked.has(family)) asked.set(family, one === baseline ? null : ((await space.admit?.(one.arm)) ?? null));
    const refused = asked.get(family)!;
    if (refused === null) return true;
    for (const other of visited.values()) if (other.arm.family === family && other !== baseline) other.stopped = refused;
    return false;
  };

  let leading = [...new Set([baseline, ...[...visited.values()].filter(({ arm }) => arm.settings.length === 0)])];
  for (let look = 0; look < looks; look++) {
    await measureRound(leading, 1);
    // How far behind is told against the fastest that may win.
    for (const one of alive(leading).sort(bySpeed)) if (await admit(one)) break;
    leading = keepNear(alive(leading), "at default settings");
  }
  for (const one of leading) await admit(one);
  leading = alive(leading);
  const fastest = Math.min(...leading.map(level));
  // The fastest family's arms first, where time does not suffice for all.
  const names = new Set(
    leading
      .filter((one) => level(one) <= near * fastest)
      .sort(bySpeed)
      .map(({ arm }) => arm.family),
  );

  /** Looks at arms in short visits, a batch after the other while there is time; the rest is set aside. */
  const lookAt = async (arms: readonly Visited[]): Promise<Visited[]> => {
    const reserve = (1 - looksShare) * space.windowsLeft();
    const stay: Visited[] = [];
    for (let from = 0; from < arms.length; from += batch) {
      let fine = arms.slice(from, from + batch);
      if (space.windowsLeft() - fine.length * looks * shortShare < reserve) {
        for (const one of arms.slice(from)) one.stopped = "not measured: no time for so many";
        break;
      }
      for (let look = 0; look < looks && fine.length > 0; look++) {
        await measureRound(fine, shortShare);
        const stays = new Set(keepNear([...alive(leading), ...alive(stay), ...alive(fine)], "in short visits"));
        fine = fine.filter((one) => stays.has(one));
      }
      stay.push(...fine);
    }
    return alive(stay);
  };
  const fine: Visited[] = [];
  const combinations: { one: Visited; expected: number }[] = [];
  const inFamily = [...names].map((name) => [...visited.values()].filter(({ arm }) => arm.family === name));
  const singlesOf = inFamily.map((own) => atomsOf(own.map(({ arm }) => arm)).map(({ id }) => visited.get(id)!));
  fine.push(...(await lookAt(singlesOf.flat().filter(({ visits }) => visits.length === 0))));
  for (const [at, own] of inFamily.entries()) {
    const base = own.find(({ arm }) => arm.settings.length === 0);
    /** What a single alone costs, as a factor; 1 where it was not measured. */
    const alone = singlesOf[at]!.map((one) => {
      const failed = [one, base].some((each) => each?.visits.some(({ value }) => value === null));
      const known = base && one.visits.length > 0;
      return { one, factor: failed ? Number.POSITIVE_INFINITY : known ? level(one) / level(base) : 1 };
    });
    for (const one of own.filter((each) => each.visits.length === 0 && !singlesOf[at]!.includes(each))) {
      const parts = alone.filter((single) => includes(one.arm, single.one.arm));
      const slower = parts.find(({ factor }) => factor > harmless);
      if (slower) one.stopped = `not measured: ${slower.one.arm.settings.join(" · ")} alone was slower`;
      else combinations.push({ one, expected: parts.reduce((product, { factor }) => product * factor, 1) });
    }
  }
  fine.push(...(await lookAt(combinations.sort((a, b) => a.expected - b.expected).map(({ one }) => one))));

  const racers = await race(alive([...new Set([baseline, ...leading, ...fine])]), {
    baseline,
    keep: space.keep,
    measureRound: (arms) => measureRound(arms, 1),
    windowsLeft: () => space.windowsLeft(),
  });
  const ranked = racers.map(({ arm }) => arm);
  return {
    ranked: ranked[0]?.id === space.baseline ? ranked : ranked.filter((arm) => arm.id !== space.baseline),
    visited: [...visited.values()],
    windows,
  };
}
