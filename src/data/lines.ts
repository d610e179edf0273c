/** Text files of data, read as a stream: CSV with a header row, and JSON Lines. Memory holds the columns, never the text. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { parse, CsvError } from "csv-parse";
import { AssayError } from "../base/index.ts";
import type { Column, Columns } from "./columns.ts";

const bad = (where: string, what: string, cause?: unknown): AssayError =>
  new AssayError("DATA_UNREADABLE", `${where}: ${what}`, cause === undefined ? {} : { cause });
const plainNumber = /^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?)\s*$/;

/** Numbers that come one after another. */
function growing(): { push: (value: number) => void; all: () => Float64Array } {
  let data = new Float64Array(1024);
  let used = 0;
  return {
    push(value) {
      if (used === data.length) {
        const larger = new Float64Array(2 * used);
        larger.set(data);
        data = larger;
      }
      data[used++] = value;
    },
    all: () => data.slice(0, used),
  };
}

/** Distinct texts of a column that are kept once, however often they come. */
const mostShared = 4096;

function texts(): { push: (text: string) => void; all: string[] } {
  const known = new Map<string, string>();
  const all: string[] = [];
  return {
    all,
    push(text) {
      let own = known.get(text);
      if (own === undefined) {
        own = text;
        if (known.size < mostShared) known.set(text, text);
      }
      all.push(own);
    },
  };
}

/** One pass over a CSV; columns whose name is in `asText` are texts. Returns those that turned out to be no numbers, too. */
async function csvPass(input: Readable, where: string, asText: ReadonlySet<string>): Promise<{ columns: Columns; wrong: string[] }> {
  let header: string[] | null = null;
  let count = 0;
  const numbers = new Map<number, ReturnType<typeof growing>>();
  const words = new Map<number, ReturnType<typeof texts>>();
  const wrong = new Set<number>();
  const parser = parse({ bom: true, skip_empty_lines: true });
  input.once("error", (fault) => parser.destroy(fault));
  try {
    for await (const row of input.pipe(parser) as AsyncIterable<string[]>) {
      if (!header) {
        header = row;
        const twice = row.find((name, i) => row.indexOf(name) !== i);
        if (twice !== undefined) throw bad(where, `column "${twice}" comes twice`);
        for (const [c, name] of row.entries()) if (asText.has(name)) words.set(c, texts());
        for (const [c, name] of row.entries()) if (!asText.has(name)) numbers.set(c, growing());
        continue;
      }
      count++;
      for (const [c, column] of words) column.push(row[c]!);
      for (const [c, column] of numbers) {
        const value = row[c]!;
        if (plainNumber.test(value)) column.push(Number(value));
        else {
          wrong.add(c);
          numbers.delete(c);
        }
      }
    }
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    throw bad(where, cause instanceof CsvError ? cause.message : `it cannot be read: ${(cause as Error).message}`, cause);
  } finally {
    input.destroy();
  }
  if (!header || count === 0) throw bad(where, "it has no header row with rows below it");
  const columns = header.flatMap((name, c): [string, Column][] => {
    const own = words.get(c);
    if (own) return [[name, { kind: "texts", data: own.all }]];
    const values = numbers.get(c);
    return values ? [[name, { kind: "numbers", source: "f8", data: values.all(), shape: [] }]] : [];
  });
  return { columns: { count, columns: new Map(columns) }, wrong: [...wrong].map((c) => header[c]!) };
}

/**
 * Reads CSV: RFC 4180, UTF-8, a header row. A column of numbers becomes numbers, any other texts: the
 * first pass finds which, a second reads their texts.
 */
export async function readCsv(open: () => Readable, where: string): Promise<Columns> {
  const { columns, wrong } = await csvPass(open(), where, new Set());
  return wrong.length === 0 ? columns : (await csvPass(open(), where, new Set(wrong))).columns;
}

/** Shape of nested lists of numbers; null when they are ragged or hold anything else. */
function shapeOf(value: unknown): number[] | null {
  if (typeof value === "number" || typeof value === "boolean") return [];
  if (!Array.isArray(value) || value.length === 0) return null;
  const inner = value.map(shapeOf);
  const [first] = inner;
  return first && inner.every((shape) => shape !== null && shape.join() === first.join()) ? [value.length, ...first] : null;
}

function pushAll(value: unknown, push: (value: number) => void): void {
  if (Array.isArray(value)) for (const inner of value) pushAll(inner, push);
  else push(Number(value));
}

/** A field of JSON Lines while it is read: numbers of one shape, which become lists where lengths differ. */
interface FieldReader {
  push(value: unknown, item: number): void;
  column(): Column;
}

function textField(field: string, where: string): FieldReader {
  const own = texts();
  return {
    push(value, item) {
      if (typeof value !== "string")
        throw bad(
          `${where}, item ${item}`,
          `field "${field}" is ${JSON.stringify(value)?.slice(0, 40) ?? "missing"}; the first item has a text`,
        );
      own.push(value);
    },
    column: () => ({ kind: "texts", data: own.all }),
  };
}

function numberField(field: string, where: string, shape: readonly number[]): FieldReader {
  const numbers = growing();
  let lists: Float64Array[] | null = null;
  const isList = shape.length === 1;
  return {
    push(value, item) {
      const own = shapeOf(value);
      const fits = own?.join() === shape.join();
      if (!fits && isList && !lists) {
        const [length] = shape as [number];
        const all = numbers.all();
        if (Array.isArray(value)) lists = Array.from({ length: all.length / length }, (_, k) => all.slice(k * length, (k + 1) * length));
      }
      if (lists) {
        if (own?.length !== 1 && !(Array.isArray(value) && value.length === 0))
          throw bad(`${where}, item ${item}`, `field "${field}" is no list of numbers; the first item has one`);
        lists.push(Float64Array.from(value as number[]));
        return;
      }
      if (!fits)
        throw bad(`${where}, item ${item}`, `field "${field}" has shape [${own?.join() ?? "none"}]; the first item has [${shape.join()}]`);
      pushAll(value, numbers.push);
    },
    column: () => (lists ? { kind: "lists", data: lists } : { kind: "numbers", source: "f8", data: numbers.all(), shape }),
  };
}

/** Reads JSON Lines: one object an item; its fields are numbers, nested lists of equal shape, lists of any length, or texts. */
export async function readJsonLines(input: Readable, where: string): Promise<Columns> {
  const fields = new Map<string, FieldReader>();
  let count = 0;
  let line = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line++;
      const plain = line === 1 ? text.replace(/^\uFEFF/, "") : text;
      if (plain.trim() === "") continue;
      let row: unknown;
      try {
        row = JSON.parse(plain);
      } catch (cause) {
        throw bad(`${where}, line ${line}`, `it is no JSON: ${(cause as Error).message}`, cause);
      }
      if (typeof row !== "object" || row === null || Array.isArray(row)) throw bad(`${where}, line ${line}`, "it is no object");
      const own = row as Record<string, unknown>;
      if (count++ === 0) {
        for (const [field, value] of Object.entries(own)) {
          const shape = shapeOf(value);
          if (typeof value === "string") fields.set(field, textField(field, where));
          else if (shape) fields.set(field, numberField(field, where, shape));
        }
      }
      for (const [field, reader] of fields) reader.push(own[field], count);
    }
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    throw bad(where, `it cannot be read: ${(cause as Error).message}`, cause);
  } finally {
    input.destroy();
  }
  if (count === 0) throw bad(where, "it holds no line");
  return { count, columns: new Map([...fields].map(([field, reader]) => [field, reader.column()])) };
}
