/** Runs against endpoints set side by side that were made by themselves, one after another. Pure. */
import { AssayError } from "../../base/index.ts";
import { pairsToSee, unpairedRatio } from "../../stats/index.ts";
import { describeEndpoint, describeLoad } from "./describe.ts";
import { answerOf, comparedOf, harmless, leastRuns, valueOf, type Answer, type Unit } from "./difference.ts";
import type { EndpointQuestion } from "./question.ts";
import type { EndpointRun } from "./view.ts";
import type { EndpointVisit } from "./visit.ts";

/** A figure on one side: geometric mean over its runs; of a single run with its 95 % interval where that is known. */
export interface SideFigure {
  value: number;
  low: number | null;
  high: number | null;
  runs: number;
}

export interface ComparedFigure {
  /** In words. */
  load: string;
  /** Such as `ttft.p50`. */
  what: string;
  unit: Unit;
  first: SideFigure | null;
  second: SideFigure | null;
  /** Second ÷ first with its 95 % interval over the runs; null = fewer than two valid runs on a side. */
  ratio: { value: number; low: number; high: number } | null;
  /** Of the second against the first. */
  answer: Answer;
  /** The smallest relative difference that so many runs could have seen; null = not known. */
  visible: number | null;
  /** About how many more runs of each side would tell; 0 = it is told. */
  moreRuns: number;
}

export interface RunComparison {
  /** What was asked of each side. */
  sides: [string, string];
  /** Where the questions differ besides the endpoint: then it is not the same work. */
  unlike: string[];
  /** Visits left out, each with why. */
  leftOut: string[];
  figures: ComparedFigure[];
}

interface OwnVisit {
  visit: EndpointVisit;
  load: string;
}

function visitsOf(runs: readonly EndpointRun[], side: string, leftOut: string[]): OwnVisit[] {
  return runs.flatMap(({ visits, conclusion }, at) => {
    if (conclusion.kind === "against")
      throw new AssayError("USAGE", `run ${at + 1} of the ${side} side compares two endpoints itself: assay report shows its answer`);
    return visits.flatMap((visit) => {
      const load = describeLoad(visit.load);
      if (visit.run.valid) return [{ visit, load }];
      leftOut.push(`${side}, ${load}: ${visit.run.reasons.join("; ")}`);
      return [];
    });
  });
}

function unlikeOf(first: EndpointQuestion, second: EndpointQuestion): string[] {
  const of = ({ endpoints: [endpoint], warmUpMs, timeoutMs, connections }: EndpointQuestion): Record<string, unknown> => {
    const { url: _, ...asked } = endpoint!;
    return { ...asked, warmUpMs, timeoutMs, connections };
  };
  const [a, b] = [of(first), of(second)];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
    .map((name) => `${name}: ${JSON.stringify(a[name])} and ${JSON.stringify(b[name])}`);
}

/** The figures that a visit brings into a comparison, `null` where it has none. */
function figuresOf(
  question: EndpointQuestion,
  { figures, run, context, load }: EndpointVisit,
): { what: string; unit: Unit; value: number | null }[] {
  const latencies = comparedOf(question).map(({ tag, p }) => ({
    what: `${tag}.p${Number((100 * p).toPrecision(4))}`,
    unit: "ms" as const,
    value: valueOf(figures, tag, p),
  }));
  if (load.kind !== "closed") return latencies;
  const perSecond = (what: string, value: number): { what: string; unit: Unit; value: number | null } => ({
    what,
    unit: "per second",
    value: value || null,
  });
  return [
    ...latencies,
    perSecond("requests", run.succeeded / (context.windowMs / 1000)),
    perSecond("output tokens", figures.outputPerSecond),
  ];
}

function sideOf(values: readonly number[], visits: readonly EndpointVisit[], what: string): SideFigure | null {
  if (values.length === 0) return null;
  const value = values.length === 1 ? values[0]! : Math.exp(values.reduce((sum, one) => sum + Math.log(one), 0) / values.length);
  const [tag, percent] = what.split(".p");
  const shown = visits[0]!.figures.metrics
    .find((metric) => metric.tag === tag)
    ?.percentiles.find(({ p }) => Math.abs(100 * p - Number(percent)) < 1e-6);
  const single = values.length === 1 && shown ? shown : { low: null, high: null };
  return { value, low: single.low, high: single.high, runs: values.length };
}

function compared(
  load: string,
  question: EndpointQuestion,
  [first, second]: readonly [EndpointVisit[], EndpointVisit[]],
): ComparedFigure[] {
  const names = figuresOf(question, first[0] ?? second[0]!);
  return names.flatMap(({ what, unit }): ComparedFigure[] => {
    const valuesOf = (visits: readonly EndpointVisit[]): number[] =>
      visits.flatMap((visit) => {
        const value = figuresOf(question, visit).find((one) => one.what === what)?.value ?? null;
        return value !== null && value > 0 ? [value] : [];
      });
    const [a, b] = [valuesOf(first), valuesOf(second)];
    if (a.length === 0 && b.length === 0) return [];
    const ratio = unpairedRatio(b, a);
    const least = Math.min(a.length, b.length);
    const sides = { load, what, unit, first: sideOf(a, first, what), second: sideOf(b, second, what) };
    if (!ratio) return [{ ...sides, ratio: null, answer: "cannot tell yet", visible: null, moreRuns: leastRuns - least }];
    const { value, low, high, visible } = ratio;
    const answer = least < leastRuns ? "cannot tell yet" : answerOf(ratio, unit);
    // The noise of a pair of single runs, from the interval's own error.
    const logSd = (Math.log(high / low) / 2 / 1.96) * Math.sqrt(least);
    const needed = Math.max(leastRuns, pairsToSee(logSd, Math.max(Math.abs(Math.log(value)), Math.log1p(harmless))));
    const moreRuns = answer === "cannot tell yet" ? Math.max(1, needed - least) : 0;
    return [{ ...sides, ratio: { value, low, high }, answer, visible, moreRuns }];
  });
}

/** Compares the valid visits of each side, load by load. Throws USAGE where a run is itself a comparison, or no load is common. */
export function compareRuns(first: readonly EndpointRun[], second: readonly EndpointRun[]): RunComparison {
  const leftOut: string[] = [];
  const [a, b] = [visitsOf(first, "first", leftOut), visitsOf(second, "second", leftOut)];
  const loads = [...new Set(a.map(({ load }) => load))].filter((load) => b.some((one) => one.load === load));
  const why = leftOut.length > 0 ? `; left out: ${leftOut.join(" · ")}` : "";
  if (loads.length === 0) throw new AssayError("USAGE", `the runs have no load in common that is valid on both sides${why}`);
  const [one, other] = [first[0]!.question, second[0]!.question];
  const of = (visits: readonly OwnVisit[], load: string): EndpointVisit[] =>
    visits.filter((visit) => visit.load === load).map(({ visit }) => visit);
  return {
    sides: [describeEndpoint(one.endpoints[0]!), describeEndpoint(other.endpoints[0]!)],
    unlike: unlikeOf(one, other),
    leftOut,
    figures: loads.flatMap((load) => compared(load, one, [of(a, load), of(b, load)])),
  };
}
