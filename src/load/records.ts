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
 * On disk an Arrow IPC stream, gzipped, in which three stamps stand as the nanoseconds since the one
 * before, as they take a quarter of the room then: issuedNs and doneNs since scheduledNs, sentNs since
 * issuedNs, firstByteNs since sentNs.
 */
import { createWriteStream, readFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip, gunzipSync } from "node:zlib";
import { makeTable, RecordBatchStreamWriter, tableFromIPC } from "apache-arrow";
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
type ColumnName = keyof typeof columns;
const names = Object.keys(columns) as ColumnName[];

export type RecordTable = { [K in ColumnName]: ReturnType<(typeof columns)[K]> } & { length: number };

/** An empty table of that many rows. */
export function createTable(length: number): RecordTable {
  const made = Object.fromEntries(names.map((name) => [name, columns[name](length)]));
  return { ...made, length } as RecordTable;
}

/** The memory under a table, to hand it to another thread. */
export const buffersOf = (table: RecordTable): ArrayBuffer[] => names.map((name) => table[name].buffer as ArrayBuffer);

/** The first rows of a table, without a copy. */
export function headOf(table: RecordTable, length: number): RecordTable {
  const cut = Object.fromEntries(names.map((name) => [name, table[name].subarray(0, length)]));
  return { ...cut, length } as RecordTable;
}

/** Tables joined, in order of `index`. */
export function joinTables(tables: readonly RecordTable[]): RecordTable {
  const sorted = [...tables].sort((a, b) => (a.index[0] ?? 0) - (b.index[0] ?? 0));
  const joined = createTable(sorted.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const table of sorted) {
    for (const name of names) joined[name].set(table[name] as never, at);
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
] as const;

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
      const stamps = since.map(([name, from]) => [name, table[name].map((at, row) => at - table[from][row]!)] as const);
      const stored = { ...Object.fromEntries(names.map((name) => [name, table[name]])), ...Object.fromEntries(stamps) };
      for (const batch of makeTable(stored as Record<string, Float64Array>).batches) writer.write(batch);
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
    const found = Object.fromEntries(names.map((name) => [name, stored.getChild(name)!.toArray() as unknown]));
    const table = { ...found, length: stored.numRows } as RecordTable;
    for (const [name, from] of since) table[name] = table[name].map((after, row) => after + table[from][row]!);
    return table;
  } catch (cause) {
    throw new AssayError("RUN_UNREADABLE", `${path}: no readable records: ${(cause as Error).message}`, { cause });
  }
}
