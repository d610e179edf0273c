/**
 * Which visit comes next, and what the visits so far prove. Pure: from the question and the visits it says
 * the next load, and the answer.
 */
import { randomStream } from "../../base/index.ts";
import { pairedRatio, pairsToSee, sampleFloor, smallestVisibleRatio } from "../../stats/index.ts";
import { sustainedDrift } from "../../load/index.ts";
import { capacityOf, nextRate, type Capacity, type CapacityStep, type StepOutcome } from "../capacity.ts";
import { answerOf, comparedOf, harmless, leastRuns, valueOf, type Answer, type Unit } from "./difference.ts";
import type { EndpointLoad, EndpointQuestion } from "./question.ts";
import type { EndpointVisit } from "./visit.ts";

export interface NextVisit {
  endpoint: number;
  load: EndpointLoad;
  durationMs: number;
}

/** A figure of one endpoint against the other's. */
export interface Difference {
  /** Such as `ttft.p50`, or `output` for output tokens per second. */
  what: string;
  unit: Unit;
  /** Second ÷ first, with its 95 % interval over the pairs; null = fewer than two pairs, or a value that is missing. */
  ratio: { value: number; low: number; high: number; pairs: number } | null;
  /** Of the second against the first. */
  answer: Answer;
  /** The smallest relative difference that this many pairs could have seen; null = not known. */
  visible: number | null;
  /** About how many more pairs would tell; 0 = it is told. */
  morePairs: number;
}

export type Conclusion =
  | { kind: "one" }
  | { kind: "sweep" }
  | { kind: "capacity"; capacity: Capacity; startPerSecond: number | null; steps: CapacityStep[] }
  | { kind: "against"; differences: Difference[] };

/** Requests of the short closed loop that tells where a search for the capacity starts. */
const probeConcurrency = 16;
const probeMs = 3000;
/** A window is made longer for a low rate, so that it can certify a percentile, but not more than that many times. */
const longestWindow = 10;

const certain = ({ run, figures: { targets } }: EndpointVisit): StepOutcome => {
  if (targets.some(({ result }) => result === "fail")) return "fail";
  if (run.drift > sustainedDrift) return run.tainted ? "cannot-tell" : "fail";
  if (!run.valid) return "invalid";
  return targets.every(({ result }) => result === "pass") ? "pass" : "cannot-tell";
};

const openLoads = (visits: readonly EndpointVisit[]): CapacityStep[] =>
  visits.flatMap((visit) => (visit.load.kind === "open" ? [{ ratePerSecond: visit.load.ratePerSecond, outcome: certain(visit) }] : []));

/** Where the search starts: as asked, or what the closed loop reached. */
function startOf({ design }: EndpointQuestion, visits: readonly EndpointVisit[]): number | null {
  if (design.kind !== "capacity") return null;
  if (design.startPerSecond !== null) return design.startPerSecond;
  const probe = visits.find(({ load }) => load.kind === "closed");
  return probe ? Number(Math.max(0.01, probe.run.succeeded / (probe.context.windowMs / 1000)).toPrecision(3)) : null;
}

function windowFor({ durationMs, targets }: EndpointQuestion, rate: number): number {
  const needed = Math.max(0, ...targets.map(({ p }) => sampleFloor(p)));
  return Math.min(longestWindow * durationMs, Math.max(durationMs, (1000 * 1.2 * needed) / rate));
}

const arrivalOf = (load: EndpointLoad): Extract<EndpointLoad, { kind: "open" }>["arrival"] =>
  load.kind === "open" || load.kind === "ramp" || load.kind === "steps" ? load.arrival : { kind: "poisson" };

function pairsOf(visits: readonly EndpointVisit[]): [EndpointVisit, EndpointVisit][] {
  const of = (which: number): EndpointVisit[] => visits.filter(({ endpoint }) => endpoint === which);
  const [first, second] = [of(0), of(1)];
  return first.slice(0, second.length).map((visit, k) => [visit, second[k]!]);
}

function differenceOf(what: string, unit: Difference["unit"], pairs: readonly (readonly [number | null, number | null])[]): Difference {
  const known = pairs.filter((pair): pair is [number, number] => pair.every((value) => value !== null && value > 0));
  const ratio = known.length === pairs.length ? pairedRatio(known.map(([first, second]) => [second, first])) : null;
  if (!ratio)
    return { what, unit, ratio: null, answer: "cannot tell yet", visible: null, morePairs: Math.max(1, leastRuns - pairs.length) };
  const { value, low, high, pairs: count, logSd } = ratio;
  const said = { what, unit, ratio: { value, low, high, pairs: count }, visible: smallestVisibleRatio(logSd, count) };
  if (count < leastRuns) return { ...said, answer: "cannot tell yet", morePairs: leastRuns - count };
  const answer = answerOf(ratio, unit);
  if (answer !== "cannot tell yet") return { ...said, answer, morePairs: 0 };
  return { ...said, answer, morePairs: Math.max(1, pairsToSee(logSd, Math.log1p(harmless)) - count) };
}

function differencesOf(question: EndpointQuestion, visits: readonly EndpointVisit[]): Difference[] {
  const pairs = pairsOf(visits);
  const of = (value: (visit: EndpointVisit) => number | null): [number | null, number | null][] =>
    pairs.map(([first, second]) => [value(first), value(second)]);
  const latencies = comparedOf(question)
    .filter(({ tag, p }) => pairs.some((pair) => pair.some(({ figures }) => valueOf(figures, tag, p) !== null)))
    .map(({ tag, p }) =>
      differenceOf(
        `${tag}.p${Number((100 * p).toPrecision(4))}`,
        "ms",
        of(({ figures }) => valueOf(figures, tag, p)),
      ),
    );
  const closed = question.load.kind === "closed";
  const rates: Difference[] = closed
    ? [
        differenceOf(
          "requests",
          "per second",
          of(({ run, context }) => run.succeeded / (context.windowMs / 1000)),
        ),
        ...(visits.some(({ figures }) => figures.outputPerSecond > 0)
          ? [
              differenceOf(
                "output tokens",
                "per second",
                of(({ figures }) => figures.outputPerSecond),
              ),
            ]
          : []),
      ]
    : [];
  return [...latencies, ...rates];
}

/** The next visit; null = the question is answered, or more visits would not answer it. */
export function nextVisit(question: EndpointQuestion, visits: readonly EndpointVisit[]): NextVisit | null {
  const { design, load, durationMs, seed } = question;
  switch (design.kind) {
    case "one":
      return visits.length === 0 ? { endpoint: 0, load, durationMs } : null;
    case "sweep": {
      const order = randomStream(seed, "sweep").shuffled(design.ratesPerSecond);
      const ratePerSecond = order[visits.length];
      return ratePerSecond === undefined
        ? null
        : { endpoint: 0, load: { kind: "open", arrival: arrivalOf(load), ratePerSecond }, durationMs };
    }
    case "capacity": {
      const start = startOf(question, visits);
      if (start === null) return { endpoint: 0, load: { kind: "closed", concurrency: probeConcurrency }, durationMs: probeMs };
      const ratePerSecond = nextRate(openLoads(visits), start);
      return ratePerSecond === null
        ? null
        : { endpoint: 0, load: { kind: "open", arrival: arrivalOf(load), ratePerSecond }, durationMs: windowFor(question, ratePerSecond) };
    }
    case "against": {
      const done =
        visits.length >= 2 * leastRuns &&
        visits.length % 2 === 0 &&
        differencesOf(question, visits).every(({ morePairs }) => morePairs === 0);
      if (done || visits.length >= 2 * design.pairs) return null;
      // A B, then B A: which comes first is drawn for every four, so that neither is favoured by its place.
      const four = randomStream(seed, "four", visits.length >> 2).shuffled([0, 1]);
      return { endpoint: four[[0, 1, 1, 0][visits.length % 4]!]!, load, durationMs };
    }
  }
}

/** What the visits prove. */
export function conclude(question: EndpointQuestion, visits: readonly EndpointVisit[]): Conclusion {
  const { design } = question;
  switch (design.kind) {
    case "one":
    case "sweep":
      return { kind: design.kind };
    case "capacity": {
      const steps = openLoads(visits);
      const startPerSecond = startOf(question, visits);
      const ended = startPerSecond === null || nextVisit(question, visits) !== null;
      return { kind: "capacity", capacity: capacityOf(steps, startPerSecond ?? 1, ended), startPerSecond, steps };
    }
    case "against":
      return { kind: "against", differences: differencesOf(question, visits) };
  }
}
