/** A row of recorded traffic, and how a format reads it. */

export interface TraceRequest {
  /** From the trace's first request, milliseconds. */
  atMs: number;
  inputTokens: number;
  outputTokens: number;
  /** Ids of the blocks that the prompt consists of: equal ids, equal text; null = the trace does not tell. */
  blocks: readonly (number | string)[] | null;
  /** Tokens of a whole block; the last may be shorter. */
  blockTokens: number;
}

export interface TraceFormat {
  name: string;
  /** Whether the first line (CSV head or first JSON object) is of this format. */
  fits(first: { columns: readonly string[] } | { fields: Readonly<Record<string, unknown>> }): boolean;
  /** A row's requests, with times as the trace has them in milliseconds. Throws Error with what is wrong. */
  read(row: Readonly<Record<string, unknown>>): TraceRequest[];
}

/** A number of a row. */
export function numberIn(row: Readonly<Record<string, unknown>>, field: string, least = 0): number {
  const value = Number(row[field]);
  if (row[field] === undefined || row[field] === "" || !Number.isFinite(value) || value < least)
    throw new Error(`"${field}" is ${JSON.stringify(row[field]) ?? "missing"}; expected a number, ${least} or more`);
  return value;
}
