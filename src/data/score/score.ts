/** Answers of the model → a prediction an item and its value beside the label. Anything missing or not finite is a fault. */
import { AssayError } from "../../base/index.ts";
import type { Tensor } from "../../tensor/index.ts";
import type { Column } from "../columns.ts";

export interface ItemScore {
  /** What the metric is the mean of: 1 or 0 for right or wrong, an error, a share; null with a fault. */
  value: number | null;
  prediction: string | number | null;
  fault?: string;
}

export interface Metric {
  name: string;
  betterIs: "higher" | "lower";
  /** Whether values are 0 or 1. */
  binary: boolean;
  /** Its value on the holdout for the best answer that is the same for every item; absent where there is none to tell. */
  blind?: number;
}

export interface Scorer {
  metric: Metric;
  /** The metric's value on those items for the best answer that is the same for each. */
  blind?(items: readonly number[]): number;
  /** Scores of those items, in their order; an answer that is undefined did not come. */
  score(items: readonly number[], outputs: readonly (Tensor | undefined)[]): ItemScore[];
}

export const noScore = (fault: string): ItemScore => ({ value: null, prediction: null, fault });

/** A scorer that looks at one item at a time. */
export const oneByOne = (
  metric: Metric,
  scoreOne: (item: number, output: Tensor) => ItemScore,
  blind?: (items: readonly number[]) => number,
): Scorer => ({
  metric,
  ...(blind && { blind }),
  score: (items, outputs) =>
    items.map((item, at) => {
      const output = outputs[at];
      if (!output) return noScore("the output is missing");
      if (output.shape.length > 0 && output.shape[0] !== 1) return noScore(`item ${item}: the answer has ${output.shape[0]} items`);
      if (output.data.length === 0) return noScore("the output is empty");
      return scoreOne(item, output);
    }),
});

/** The first value that is no finite number, in words; null when all are finite. Texts are none. */
export function notFinite({ data }: Tensor): string | null {
  if (Array.isArray(data)) return "the output holds texts";
  for (const value of data) if (typeof value === "number" && !Number.isFinite(value)) return `the output holds ${value}`;
  return null;
}

export const labelFault = (field: unknown, what: string): AssayError => new AssayError("DATA_MISFIT", `labels "${String(field)}": ${what}`);

/** One number or text an item. Throws DATA_MISFIT for lists. */
export function singleLabels(labels: Column, field: unknown): (item: number) => string | number {
  if (labels.kind === "numbers" && labels.shape.some((size) => size !== 1))
    throw labelFault(field, `one item has shape [${labels.shape.join()}]; expected one value an item`);
  return (item) => (labels.kind === "texts" ? labels.data[item]! : Number(labels.data[item]));
}

/** Numbers and texts that mean the same are the same: 3, "3" and 3.0. */
export const same = (a: string | number, b: string | number): boolean =>
  String(a) === String(b) || (a !== "" && b !== "" && Number(a) === Number(b));
