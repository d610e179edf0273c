/** Recorded traffic: when each request came, how long it and its answer were, and what it shares with others. */
import { CsvError, parse } from "csv-parse/sync";
import { AssayError } from "../../base/index.ts";
import { azure } from "./azure.ts";
import { bailian } from "./bailian.ts";
import { burstGpt } from "./burst-gpt.ts";
import { mooncake } from "./mooncake.ts";
import type { TraceFormat, TraceRequest } from "./rows.ts";
import { weka } from "./weka.ts";

/** In the order in which they are tried: a format that asks for more fields comes first. */
const formats: readonly TraceFormat[] = [azure, burstGpt, weka, bailian, mooncake];
const known = formats.map(({ name }) => name);

export interface Trace {
  format: string;
  /** In order of time, the first at 0. */
  requests: TraceRequest[];
}

type TraceRow = Readonly<Record<string, unknown>>;
type BadRow = (line: number, what: string) => AssayError;

/** JSON Lines: [line number, row]. */
function jsonRows(text: string, bad: BadRow): [number, TraceRow][] {
  return text.split(/\r?\n/).flatMap((line, at): [number, TraceRow][] => {
    if (line.trim() === "") return [];
    try {
      return [[at + 1, JSON.parse(line) as TraceRow]];
    } catch {
      throw bad(at + 1, "no JSON object");
    }
  });
}

function csvRows(text: string, bad: BadRow): [number, TraceRow][] {
  try {
    const rows = parse(text, { columns: true, trim: true, skip_empty_lines: true, info: true }) as unknown as {
      info: { lines: number };
      record: TraceRow;
    }[];
    return rows.map(({ info, record }) => [info.lines, record]);
  } catch (cause) {
    if (cause instanceof CsvError) throw bad(Number(cause["lines"] ?? 1), cause.message);
    throw cause;
  }
}

/** Reads a trace, whatever its format. Throws DATA_UNREADABLE naming the line. */
export function parseTrace(content: string, where: string): Trace {
  const text = content.replace(/^\uFEFF/, "");
  const bad: BadRow = (line, what) => new AssayError("DATA_UNREADABLE", `${where}:${line}: ${what}`);
  const json = text.trimStart().startsWith("{");
  const rows = json ? jsonRows(text, bad) : csvRows(text, bad);
  const first = rows[0]?.[1] ?? {};
  const format = formats.find((one) => one.fits(json ? { fields: first } : { columns: Object.keys(first) }));
  if (!format) throw bad(1, `no known trace; known are ${known.join(", ")}`);
  const requests = rows.flatMap(([line, row]) => {
    try {
      return format.read(row);
    } catch (fault) {
      throw bad(line, (fault as Error).message);
    }
  });
  if (requests.length === 0) throw bad(1, "no request is in it");
  requests.sort((a, b) => a.atMs - b.atMs);
  const start = requests[0]!.atMs;
  return { format: format.name, requests: requests.map((request) => ({ ...request, atMs: request.atMs - start })) };
}
