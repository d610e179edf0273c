/** Items of a tensor file: their count, and some of them as a model takes them. */
import type { NamedTensors } from "../../artifact/index.ts";
import { sliceBatch, type Tensor } from "../../tensor/index.ts";
import type { RowsPerItem } from "./jobs.ts";

/** Whole items in the file; 0 when it is empty. */
export const itemCount = (data: NamedTensors, rows: RowsPerItem): number =>
  Math.min(...Object.entries(data).map(([name, { shape }]) => Math.floor((shape[0] ?? 0) / rows[name]!)));

/** Items `from` (inclusive) to `to` (exclusive). */
export const itemsOf = (data: NamedTensors, rows: RowsPerItem, from: number, to: number): Map<string, Tensor> =>
  new Map(Object.entries(data).map(([name, tensor]) => [name, sliceBatch(tensor, from * rows[name]!, to * rows[name]!)]));
