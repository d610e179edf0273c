/** What the tuner knows: arms, their visits, and what the visits say. */
import { pairedRatio, type PairedRatio } from "../stats/index.ts";

export interface Arm {
  id: string;
  /** Arms of one family differ in settings only. */
  family: string;
  /** What differs from the defaults, each as name and value; [] = the defaults, the family's first look. */
  settings: readonly string[];
}

export interface Visited {
  arm: Arm;
  /** Round, share and value of each visit, in order. */
  visits: { round: number; share: number; value: number | null }[];
  /** Where the arm stopped, in words; null = it stayed to the end. */
  stopped: string | null;
}

/** Geometric mean of the faster half: other work on a host only ever adds, and to whole visits, to every third where machines are shared. */
function undisturbed(values: readonly number[]): number {
  const fast = [...values].sort((a, b) => a - b).slice(0, Math.ceil(values.length / 2));
  return Math.exp(fast.reduce((sum, value) => sum + Math.log(value), 0) / fast.length);
}

/** Ratio of two arms over the rounds in which both were measured; null below two such rounds. */
export function ratioOverRounds(a: Visited, b: Visited, confidence = 0.95): PairedRatio | null {
  const other = new Map(b.visits.map(({ round, value }) => [round, value]));
  const pairs = a.visits.flatMap(({ round, value }) => {
    const beside = other.get(round);
    return value !== null && beside !== null && beside !== undefined ? [[value, beside] as const] : [];
  });
  return pairedRatio(pairs, confidence);
}

/** What an arm costs undisturbed; all of its visits gave a value. */
export const level = ({ visits }: Visited): number => undisturbed(visits.map(({ value }) => value!));
export const bySpeed = (a: Visited, b: Visited): number => level(a) - level(b);
export const alive = (arms: readonly Visited[]): Visited[] => arms.filter(({ stopped }) => stopped === null);
