/**
 * The last part of the search: arms measured side by side in rounds. The slower half falls from stage to
 * stage, and any arm whose paired interval excludes the leader.
 */
import { alive, bySpeed, ratioOverRounds, type Visited } from "./visits.ts";

/** Rounds before an interval may end an arm or the race. */
const leastRounds = 5;
const mostRounds = 30;
/** Rounds of one stage, after which the slower half falls. */
const stageRounds = 5;
/** Rounds that there must be time for when the race starts. */
const roundsAtFirst = 2;
/** Repeated looks at a race need more than 95 %: one look in a hundred may err. */
const raceConfidence = 0.99;
/** A race ends when no survivor can beat the leader by more than this. */
const enough = 0.02;

export interface RaceOptions {
  /** Takes part in every round and never falls. */
  baseline: Visited;
  /** Arms wanted at the end, the baseline not counted. */
  keep: number;
  /** Measures every arm once, in full windows. */
  measureRound: (arms: readonly Visited[]) => Promise<void>;
  windowsLeft: () => number;
}

/** Races the arms and returns those that stay, fastest first; the others say why they fell. */
export async function race(arms: readonly Visited[], { baseline, keep, measureRound, windowsLeft }: RaceOptions): Promise<Visited[]> {
  let racers = [...arms].sort(bySpeed);
  const visitsBefore = new Map(racers.map((one) => [one, one.visits.length]));
  const inRace = (one: Visited): Visited => ({ ...one, visits: one.visits.slice(visitsBefore.get(one)) });
  const cut = (most: number, why: (others: number) => string): void => {
    const staying = racers.filter((one) => one !== baseline).slice(0, Math.max(keep + 1, most));
    for (const one of racers) if (one !== baseline && !staying.includes(one)) one.stopped = why(staying.length);
    racers = alive(racers);
  };
  let rounds = 0;
  let open = racers.length > 1;
  const raceOnce = async (): Promise<void> => {
    await measureRound(racers);
    rounds++;
    racers = alive(racers).sort(bySpeed);
    if (rounds < leastRounds) return;
    const best = racers[0]!;
    open = false;
    racers = racers.filter((one, rank) => {
      if (one === best) return true;
      const against = ratioOverRounds(inRace(one), inRace(best), raceConfidence);
      if (against === null) return true;
      if (against.low < 1 - enough) open = true;
      if (against.low <= 1 || one === baseline || rank < keep) return true;
      one.stopped = `raced: ${against.value.toPrecision(3)} times the leader (${against.low.toPrecision(3)}–${against.high.toPrecision(3)})`;
      return false;
    });
  };
  const mayGoOn = (): boolean => open && racers.length > 1 && rounds < mostRounds && windowsLeft() >= racers.length;

  cut(
    Math.floor(windowsLeft() / roundsAtFirst),
    (others) => `in short visits: ${others} others were as fast, and there is no time to race more`,
  );
  // Stages of equal cost: the fewer are left, the more rounds they get.
  for (let stages = Math.max(0, Math.ceil(Math.log2(racers.length / (keep + 2)))); stages > 0; stages--) {
    const due = Math.min(stageRounds, Math.max(1, Math.floor(windowsLeft() / (stages + 1) / racers.length)));
    for (let k = 0; k < due && mayGoOn(); k++) await raceOnce();
    cut(racers.length >> 1, (others) => `raced: slower than ${others} others after ${rounds} rounds`);
  }
  while (mayGoOn()) await raceOnce();
  return racers;
}
