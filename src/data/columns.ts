/** A data file as columns: one row an item, numbers of any shape, lists of any length, or texts. */

export interface NumberColumn {
  kind: "numbers";
  /** Element type of the file, as numpy names it, such as `u1`; csv and jsonl give `f8`. */
  source: string;
  /** Row-major; items × the product of `shape`. */
  data: ArrayLike<number | bigint> & { subarray(from: number, to: number): ArrayLike<number | bigint> };
  /** Shape of one item; [] = a number. */
  shape: readonly number[];
}
export interface TextColumn {
  kind: "texts";
  data: readonly string[];
}
/** Lists of numbers of different lengths. */
export interface ListColumn {
  kind: "lists";
  data: readonly Float64Array[];
}
export type Column = NumberColumn | TextColumn | ListColumn;

export interface Columns {
  /** Items. */
  count: number;
  columns: ReadonlyMap<string, Column>;
}
