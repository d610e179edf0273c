/**
 * The records of a run, one row a scheduled request, in columns:
 *
 * | column | type | meaning |
 * |---|---|---|
 * | index | uint32 | place in the schedule |
 * | item | uint32 | which of the plan's requests was sent |
 * | scheduledNs | float64 | when it was due, whole nanoseconds since the window's start |
 * | issuedNs | float64 | when the loop took it up; what lies between it and sentNs is the wait for a connection |
 * | sentNs | float64 | first byte handed to the socket; NaN = never |
 * | firstByteNs | float64 | first byte of the answer read; NaN = never |
 * | doneNs | float64 | last byte of the answer read, or when it was given up |
 * | outcome | uint8 | place in `outcomeClasses` |
 * | status | uint16 | HTTP status; 0 = none |
 * | queueUs, computeUs | float32 | the server's own times, microseconds; NaN = not told |
 * | batch | uint16 | items of the server's run that served it; 0 = not told |
 * | fresh | uint8 | 1 = on a connection opened for it |
 * | bytesIn | uint32 | bytes of the answer |
 *
 * and where the protocol streams tokens:
 *
 * | column | type | meaning |
 * |---|---|---|
 * | firstTokenNs | float64 | read that completed the first token-bearing event; NaN = none |
 * | visibleNs | float64 | the first with tokens a user sees, not reasoning; NaN = none |
 * | lastTokenNs | float64 | the last token-bearing event |
 * | longestGapUs | float32 | the longest gap between two of them |
 * | frames | uint32 | token-bearing events |
 * | firstTokens | uint16 | tokens of the first, by cumulative usage; 0 = not told |
 * | promptTokens, cachedTokens, outputTokens, reasoningTokens | uint32 | as the server counted; 0 = not told |
 *
 * On disk an Arrow IPC stream, gzipped, in which three stamps stand as the nanoseconds since the one
 * before, as they take a quarter of the room then: issuedNs and doneNs since scheduledNs, sentNs since
 * issuedNs, firstByteNs since sentNs, firstTokenNs, visibleNs and lastTokenNs since firstByteNs.
 */
import { createWriteStream, readFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip, gunzipSync } from "node:zlib";
import { makeTable, RecordBatchStreamWriter, tableFromIPC, tableToIPC } from "apache-arrow";
import { AssayError, asAssayError } from "../base/index.ts";

/** Every scheduled request ends in exactly one of these. `slo_miss` and `quality_miss` are the gates' to say. */
export const outcomeClasses = [
  "good",
  "http_error",
  "throttled",
  "timeout",
  "connect_error",
  "stream_error",
  "protocol_error",
  "cancelled",
  "unsent",
] as const;
export type OutcomeClass = (typeof outcomeClasses)[number];

export const outcomeNumber = (outcome: OutcomeClass): number => outcomeClasses.indexOf(outcome);

const columns = {
  index: (n: number) => new Uint32Array(n),
  item: (n: number) => new Uint32Array(n),
  scheduledNs: (n: number) => new Float64Array(n),
  issuedNs: (n: number) => new Float64Array(n),
  sentNs: (n: number) => new Float64Array(n),
  firstByteNs: (n: number) => new Float64Array(n),
  doneNs: (n: number) => new Float64Array(n),
  outcome: (n: number) => new Uint8Array(n),
  status: (n: number) => new Uint16Array(n),
  queueUs: (n: number) => new Float32Array(n),
  computeUs: (n: number) => new Float32Array(n),
  batch: (n: number) => new Uint16Array(n),
  fresh: (n: number) => new Uint8Array(n),
  bytesIn: (n: number) => new Uint32Array(n),
} as const;
const tokenColumns = {
  firstTokenNs: (n: number) => new Float64Array(n),
  visibleNs: (n: number) => new Float64Array(n),
  lastTokenNs: (n: number) => new Float64Array(n),
  longestGapUs: (n: number) => new Float32Array(n),
  frames: (n: number) => new Uint32Array(n),
  firstTokens: (n: number) => new Uint16Array(n),
  promptTokens: (n: number) => new Uint32Array(n),
  cachedTokens: (n: number) => new Uint32Array(n),
  outputTokens: (n: number) => new Uint32Array(n),
  reasoningTokens: (n: number) => new Uint32Array(n),
} as const;

type Makers = Readonly<Record<string, (n: number) => Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array>>;
type Columns<M extends Makers> = { [K in keyof M]: ReturnType<M[K]> };
export type TokenTable = Columns<typeof tokenColumns>;
export type RecordTable = Columns<typeof columns> & {
  length: number;
  /** Null where the protocol streams no tokens. */ tokens: TokenTable | null;
};

export const hasTokens = (table: RecordTable): table is RecordTable & { tokens: TokenTable } => table.tokens !== null;

const build = <M extends Makers>(makers: M, make: (name: keyof M & string) => unknown): Columns<M> =>
  Object.fromEntries(Object.keys(makers).map((name) => [name, make(name)])) as Columns<M>;

/** Every column of the table by name. */
function columnsOf(table: RecordTable): Record<string, Float64Array> {
  const { tokens } = table;
  const own = { ...build(columns, (name) => table[name]), ...(tokens && build(tokenColumns, (name) => tokens[name])) };
  return own as unknown as Record<string, Float64Array>;
}

/** An empty table of that many rows. */
export function createTable(length: number, withTokens: boolean): RecordTable {
  const tokens = withTokens ? build(tokenColumns, (name) => tokenColumns[name](length)) : null;
  return { ...build(columns, (name) => columns[name](length)), length, tokens };
}

/** The memory under a table, to hand it to another thread. */
export const buffersOf = (table: RecordTable): ArrayBuffer[] => Object.values(columnsOf(table)).map(({ buffer }) => buffer as ArrayBuffer);

/** The first rows of a table, without a copy. */
export function headOf(table: RecordTable, length: number): RecordTable {
  const { tokens } = table;
  return {
    ...build(columns, (name) => table[name].subarray(0, length)),
    length,
    tokens: tokens && build(tokenColumns, (name) => tokens[name].subarray(0, length)),
  };
}

/** Tables joined, in order of `index`. */
export function joinTables(tables: readonly RecordTable[]): RecordTable {
  const sorted = [...tables].sort((a, b) => (a.index[0] ?? 0) - (b.index[0] ?? 0));
  const joined = createTable(
    sorted.reduce((sum, { length }) => sum + length, 0),
    sorted.some(({ tokens }) => tokens !== null),
  );
  const into = columnsOf(joined);
  let at = 0;
  for (const table of sorted) {
    for (const [name, column] of Object.entries(columnsOf(table))) into[name]!.set(column, at);
    at += table.length;
  }
  return joined;
}

/** Stamps that stand on disk as the time since another; in this order they are found again. */
const since = [
  ["issuedNs", "scheduledNs"],
  ["sentNs", "issuedNs"],
  ["firstByteNs", "sentNs"],
  ["doneNs", "scheduledNs"],
  ["firstTokenNs", "firstByteNs"],
  ["visibleNs", "firstByteNs"],
  ["lastTokenNs", "firstByteNs"],
] as const;

/** The columns with each of those stamps moved by `by` times the one it stands on. */
function moved(all: Record<string, Float64Array>, by: 1 | -1): Record<string, Float64Array> {
  const out = { ...all };
  for (const [name, from] of since) {
    const origin = (by > 0 ? out : all)[from]!;
    if (all[name]) out[name] = all[name].map((at, row) => at + by * origin[row]!);
  }
  return out;
}

export interface RecordWriter {
  /** Hands the rows over; they are on their way to the disk at once. */
  write(table: RecordTable): void;
  /** Resolves when the file is whole and flushed; throws DISK_FULL or the system's own fault. */
  close(): Promise<void>;
}

/** Opens a file of records, streamed while the run goes on. */
export function openRecords(path: string): RecordWriter {
  const writer = new RecordBatchStreamWriter();
  let fault: unknown = null;
  // Level 1: it runs while the run goes on.
  const whole = pipeline(writer.toNodeStream(), createGzip({ level: 1 }), createWriteStream(path, { flush: true })).catch(
    (cause: unknown) => (fault = cause),
  );
  return {
    write(table) {
      for (const batch of makeTable(moved(columnsOf(table), -1)).batches) writer.write(batch);
    },
    async close() {
      writer.finish();
      await whole;
      if (fault) throw asAssayError(fault);
    },
  };
}

/** Reads a file of records. Throws RUN_UNREADABLE when it is damaged. */
export function readRecords(path: string): RecordTable {
  try {
    const stored = tableFromIPC(gunzipSync(readFileSync(path)));
    const wanted = [...Object.keys(columns), ...(stored.getChild("firstTokenNs") ? Object.keys(tokenColumns) : [])];
    const all = moved(Object.fromEntries(wanted.map((name) => [name, stored.getChild(name)!.toArray() as Float64Array])), 1);
    const tokens = all["firstTokenNs"] ? build(tokenColumns, (name) => all[name]) : null;
    return { ...build(columns, (name) => all[name]!), length: stored.numRows, tokens };
  } catch (cause) {
    throw new AssayError("RUN_UNREADABLE", `${path}: no readable records: ${(cause as Error).message}`, { cause });
  }
}

/** An Arrow IPC stream of plain columns for other tools: every stamp since its window's start, and `visit`, which of the tables, from 1. */
export function recordsToArrow(tables: readonly RecordTable[]): Uint8Array {
  const joined = createTable(
    tables.reduce((sum, { length }) => sum + length, 0),
    tables.some(({ tokens }) => tokens !== null),
  );
  const [into, visit] = [columnsOf(joined), new Uint16Array(joined.length)];
  let at = 0;
  for (const [k, table] of tables.entries()) {
    for (const [name, column] of Object.entries(columnsOf(table))) into[name]!.set(column, at);
    visit.fill(k + 1, at, (at += table.length));
  }
  return tableToIPC(makeTable({ visit, ...into }), "stream");
}
