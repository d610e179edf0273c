/** When a figure is better or worse than another, and which figures a comparison sets side by side. Pure. */
import type { Figures } from "../../load/index.ts";
import type { EndpointQuestion } from "./question.ts";

export type Answer = "better" | "worse" | "no measurable difference" | "cannot tell yet";
/** Of milliseconds less is better, of rates more. */
export type Unit = "ms" | "per second";

/** Differences below this are of no consequence. */
export const harmless = 0.02;
/** Runs of each side before a comparison may end. */
export const leastRuns = 5;

/** What an interval of second ÷ first says of the second. */
export function answerOf({ low, high }: { low: number; high: number }, unit: Unit): Answer {
  if (high < 1) return unit === "ms" ? "better" : "worse";
  if (low > 1) return unit === "ms" ? "worse" : "better";
  return low > 1 - harmless && high < 1 + harmless ? "no measurable difference" : "cannot tell yet";
}

/** Figures that a comparison sets side by side: those with targets, else the usual ones. */
export function comparedOf({ targets }: EndpointQuestion): { tag: string; p: number }[] {
  if (targets.length > 0) return targets.map(({ tag, p }) => ({ tag, p }));
  return [
    { tag: "ttft", p: 0.5 },
    { tag: "ttft", p: 0.95 },
    { tag: "tpot", p: 0.5 },
    { tag: "e2e", p: 0.5 },
    { tag: "e2e", p: 0.95 },
  ];
}

/** A percentile that the summary shows, or the nearest above that it does. */
export function valueOf({ metrics }: Figures, tag: string, p: number): number | null {
  const metric = metrics.find((one) => one.tag === tag);
  return metric && metric.count > 0
    ? ((metric.percentiles.find((one) => one.p >= p - 1e-9) ?? metric.percentiles.at(-1))?.value ?? null)
    : null;
}
