/** A figure of one request: each is a small file that says its name, unit, formula and where it does not apply. */
import { outcomeNumber, type RecordTable } from "../records.ts";

export interface RequestMetric {
  /** As targets name it. */
  tag: string;
  title: string;
  unit: "ms" | "tokens";
  formula: string;
  /** Where it does not apply; "" = it always does. */
  exception: string;
  /** NaN = does not apply to the request; Infinity = nothing arrived, which is the worst. */
  of(row: Row): number;
}

/** One row of the records. Times in milliseconds since the window's start, NaN where there is none. */
export interface Row {
  good: boolean;
  scheduled: number;
  sent: number;
  firstByte: number;
  done: number;
  first: number;
  visible: number;
  /** The last token-bearing event; where the answer comes whole, its last byte. */
  last: number;
  longestGap: number;
  frames: number;
  /** Tokens of the first token-bearing event; 1 where usage does not tell. */
  firstTokens: number;
  promptTokens: number;
  /** As the server counted, else one a token-bearing event. */
  outputTokens: number;
  /** The server's own times, milliseconds; NaN = not told. */
  queue: number;
  compute: number;
}

const good = outcomeNumber("good");

/** What an answer without tokens tells of them. */
const noStream = {
  first: Number.NaN,
  visible: Number.NaN,
  longestGap: 0,
  frames: 0,
  firstTokens: 0,
  promptTokens: 0,
  outputTokens: 0,
};

export function rowAt(table: RecordTable, at: number): Row {
  const { tokens } = table;
  const always = {
    good: table.outcome[at] === good,
    scheduled: table.scheduledNs[at]! / 1e6,
    sent: table.sentNs[at]! / 1e6,
    firstByte: table.firstByteNs[at]! / 1e6,
    done: table.doneNs[at]! / 1e6,
    queue: table.queueUs[at]! / 1000,
    compute: table.computeUs[at]! / 1000,
  };
  if (!tokens) return { ...always, ...noStream, last: always.done };
  return {
    ...always,
    first: tokens.firstTokenNs[at]! / 1e6,
    visible: tokens.visibleNs[at]! / 1e6,
    last: tokens.lastTokenNs[at]! / 1e6,
    longestGap: tokens.longestGapUs[at]! / 1000,
    frames: tokens.frames[at]!,
    firstTokens: tokens.firstTokens[at]! || 1,
    promptTokens: tokens.promptTokens[at]!,
    outputTokens: tokens.outputTokens[at]! || tokens.frames[at]!,
  };
}

/** The value of a request that succeeded; one that did not is as bad as can be. */
export const ifGood = (row: Row, value: number): number => (row.good ? value : Number.POSITIVE_INFINITY);
