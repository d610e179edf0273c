/** Items of a tensor file, in groups of equal shape, as a model takes them. */
import type { NamedTensors } from "../../artifact/index.ts";
import { sliceBatch, type Tensor } from "../../tensor/index.ts";
import type { RowsPerItem } from "./jobs.ts";

export type Groups = readonly NamedTensors[];
type Feed = Map<string, Tensor>;

/** Whole items in a group; 0 when it is empty. */
const itemCount = (data: NamedTensors, rows: RowsPerItem): number =>
  Math.min(...Object.entries(data).map(([name, { shape }]) => Math.floor((shape[0] ?? 0) / rows[name]!)));

const itemsOf = (data: NamedTensors, rows: RowsPerItem, from: number, to: number): Feed =>
  new Map(Object.entries(data).map(([name, tensor]) => [name, sliceBatch(tensor, from * rows[name]!, to * rows[name]!)]));

/** Every item once, at most so many of one group together. */
export function* feedsOf(groups: Groups, rows: RowsPerItem, most: number): Generator<{ feed: Feed; items: number }> {
  for (const group of groups) {
    const count = itemCount(group, rows);
    for (let from = 0; from < count; from += most) {
      const to = Math.min(count, from + most);
      yield { feed: itemsOf(group, rows, from, to), items: to - from };
    }
  }
}

export const countOf = (groups: Groups, rows: RowsPerItem): number => groups.reduce((sum, group) => sum + itemCount(group, rows), 0);

/** Numbers in all inputs of an item, at most. */
export const largestItem = (groups: Groups, rows: RowsPerItem): number =>
  Math.max(
    1,
    ...groups.map((group) =>
      Object.entries(group).reduce(
        (sum, [name, { shape }]) => sum + rows[name]! * shape.slice(1).reduce((product, size) => product * size, 1),
        0,
      ),
    ),
  );

/** At most so many single items, spread over the groups as the items are. */
export function spread(groups: Groups, rows: RowsPerItem, most: number): Feed[] {
  const all = groups.flatMap((group) => Array.from({ length: itemCount(group, rows) }, (_, item) => ({ group, item })));
  const count = Math.min(most, all.length);
  return Array.from({ length: count }, (_, k) => {
    const { group, item } = all[Math.floor((k * all.length) / count)]!;
    return itemsOf(group, rows, item, item + 1);
  });
}
