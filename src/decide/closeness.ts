/** How near a candidate's answers lie to those of the same model unchanged, item by item: figures always, a gate where limits are stated. */
import { figure } from "../base/index.ts";
import { pairAnswers, type AccuracyView } from "../bench/index.ts";
import { closeness } from "../stats/index.ts";
import type { ClosenessVerdict } from "./verdict.ts";

export interface ClosenessLimits {
  minCosine?: number | undefined;
  maxRelativeL2?: number | undefined;
  maxAbs?: number | undefined;
}

export interface Nearness {
  figures: ClosenessVerdict;
  /** Why the answers have not even the same shape; null = they have. */
  misfit: string | null;
}

const bounded = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** Compares two looks; null where one kept no numbers, or both are the same look. */
export function nearnessOf(own: AccuracyView, source: AccuracyView | undefined, sourceName: string): Nearness | null {
  if (!source || own.record === source.record || !own.answers || !source.answers) return null;
  const { pairs, misfit } = pairAnswers(source.answers, own.answers);
  const found = closeness(pairs);
  const itemAt = (at: number): number => own.scores.items[at]!;
  const worst = ({ value, at }: { value: number; at: number }): { value: number | null; item: number } => ({
    value: bounded(value),
    item: itemAt(at),
  });
  if (!found && !misfit) return null;
  return {
    figures: {
      reference: sourceName,
      items: found?.samples ?? 0,
      cosine: found && worst(found.cosine),
      relativeL2: found && worst(found.relativeL2),
      maxAbs: found && worst(found.maxAbs),
      p999Abs: found && bounded(found.p999Abs),
    },
    misfit: misfit && `item ${itemAt(misfit.at)} is answered with ${misfit.found} numbers; ${sourceName} answers with ${misfit.expected}`,
  };
}

/** What the limits say: sentences of what is missed. Null = it cannot be told, there is nothing to compare. */
export function missedLimits(nearness: Nearness | null, limits: ClosenessLimits): string[] | null {
  if (!nearness) return null;
  const { cosine, relativeL2, maxAbs, reference } = nearness.figures;
  const said = (what: string, worst: typeof cosine, limit: number | undefined, kind: "at least" | "at most"): string[] => {
    if (limit === undefined || !worst) return [];
    const value = worst.value ?? (kind === "at least" ? -1 : Number.POSITIVE_INFINITY);
    if (kind === "at least" ? value >= limit : value <= limit) return [];
    return [
      `${what} ${worst.value === null ? "has no bound" : `is ${figure(worst.value, 4)}`} at item ${worst.item} beside ${reference}, ${kind} ${figure(limit, 4)} is asked`,
    ];
  };
  return [
    ...said("the cosine of its answer", cosine, limits.minCosine, "at least"),
    ...said("the relative difference of its answer", relativeL2, limits.maxRelativeL2, "at most"),
    ...said("the largest difference of one number", maxAbs, limits.maxAbs, "at most"),
  ];
}
