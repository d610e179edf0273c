/**
 * Capacity: the highest rate at which every target holds, found by bisection on a ladder of rates
 * 10 % apart. Pure: from the steps so far it says which rate to try next, and what they prove. A step
 * that fails under a host stall proves nothing about the server; one that the generator's own lag
 * voids says only "at least the rate below".
 */

export type StepOutcome = "pass" | "fail" | "cannot-tell" | "invalid";

export interface CapacityStep {
  ratePerSecond: number;
  outcome: StepOutcome;
}

export interface Capacity {
  /** Highest rate that passed in every visit; 0 when none did. */
  lowPerSecond: number;
  /** Lowest rate above it that certainly failed; null when none did. */
  highPerSecond: number | null;
  /** What bounds the upper end. */
  limit: "target" | "generator" | "host-stalls" | "search-end" | "budget";
  /** Whether no rate passed above one that failed. */
  monotone: boolean;
}

/** Ratio of neighbouring rates. */
const rungRatio = 1.1;
/** Visits that the answer must pass. */
const visitsToPass = 2;
/** Tries of a rate whose outcome says nothing. */
const triesWhenUnclear = 2;
/** Rungs above the start where the search ends: 1.1³⁰ ≈ 17 times. */
const highestRung = 30;
const lowestRung = -45;

interface Rung {
  rung: number;
  outcomes: StepOutcome[];
}

const rateOf = (start: number, rung: number): number => Number((start * rungRatio ** rung).toPrecision(6));

function rungsOf(steps: readonly CapacityStep[], start: number): Rung[] {
  const rungs = new Map<number, StepOutcome[]>();
  for (const { ratePerSecond, outcome } of steps) {
    const rung = Math.round(Math.log(ratePerSecond / start) / Math.log(rungRatio));
    rungs.set(rung, [...(rungs.get(rung) ?? []), outcome]);
  }
  return [...rungs].map(([rung, outcomes]) => ({ rung, outcomes })).sort((a, b) => a.rung - b.rung);
}

const passes = ({ outcomes }: Rung): boolean => outcomes.includes("pass") && !outcomes.includes("fail");
const fails = ({ outcomes }: Rung): boolean => outcomes.includes("fail");
const unclear = (rung: Rung): boolean => !passes(rung) && !fails(rung);

/**
 * The next rate to try, requests per second; null when the bracket is closed and its lower end has
 * passed twice, or the ladder has ended.
 * @param start the first rate, a guess such as the saturated throughput
 */
export function nextRate(steps: readonly CapacityStep[], start: number): number | null {
  if (steps.length === 0) return start;
  const rungs = rungsOf(steps, start);
  const retry = rungs.find((rung) => unclear(rung) && rung.outcomes.length < triesWhenUnclear);
  if (retry) return rateOf(start, retry.rung);
  const ceiling = rungs.find((rung) => !passes(rung))?.rung ?? null;
  const floor = rungs.filter((rung) => passes(rung) && (ceiling === null || rung.rung < ceiling)).at(-1) ?? null;
  if (ceiling === null) {
    const top = rungs.at(-1)!.rung;
    return top >= highestRung ? null : rateOf(start, Math.min(highestRung, top + Math.max(1, 2 * (top + 1))));
  }
  if (floor === null) {
    const bottom = rungs[0]!.rung;
    return bottom <= lowestRung ? null : rateOf(start, Math.max(lowestRung, Math.min(bottom - 2, 2 * bottom)));
  }
  if (ceiling - floor.rung > 1) return rateOf(start, Math.floor((ceiling + floor.rung) / 2));
  const passed = floor.outcomes.filter((outcome) => outcome === "pass").length;
  return passed < visitsToPass ? rateOf(start, floor.rung) : null;
}

/** What the steps prove. `ended` = the budget ended before the bracket was closed. */
export function capacityOf(steps: readonly CapacityStep[], start: number, ended: boolean): Capacity {
  const rungs = rungsOf(steps, start);
  const ceiling = rungs.find((rung) => !passes(rung));
  const below = rungs.filter((rung) => passes(rung) && (!ceiling || rung.rung < ceiling.rung));
  const lowest = below.at(-1);
  const failed = rungs.find((rung) => fails(rung) && (!lowest || rung.rung > lowest.rung));
  const monotone = !failed || !rungs.some((rung) => passes(rung) && rung.rung > failed.rung);
  const limit = (): Capacity["limit"] => {
    if (ended && (!ceiling || nextRate(steps, start) !== null)) return "budget";
    if (!ceiling) return "search-end";
    if (fails(ceiling)) return "target";
    return ceiling.outcomes.includes("cannot-tell") ? "host-stalls" : "generator";
  };
  return {
    lowPerSecond: lowest ? rateOf(start, lowest.rung) : 0,
    highPerSecond: failed ? rateOf(start, failed.rung) : null,
    limit: limit(),
    monotone,
  };
}
