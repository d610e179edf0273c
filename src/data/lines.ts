/** Text files of data: CSV with a header row, and JSON Lines. */
import { parse, CsvError } from "csv-parse/sync";
import { AssayError } from "../base/index.ts";
import { elementCount } from "../tensor/index.ts";
import type { Column, Columns } from "./columns.ts";

const bad = (where: string, what: string, cause?: unknown): AssayError =>
  new AssayError("DATA_UNREADABLE", `${where}: ${what}`, cause === undefined ? {} : { cause });
const plainNumber = /^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?)\s*$/;

/** Parses CSV: RFC 4180, UTF-8, a header row. A column of numbers becomes numbers, any other texts. */
export function parseCsv(text: string, where: string): Columns {
  let rows: string[][];
  try {
    rows = parse(text, { bom: true, skip_empty_lines: true }) as unknown as string[][];
  } catch (cause) {
    throw bad(where, cause instanceof CsvError ? cause.message : "it is no CSV", cause);
  }
  const [header, ...body] = rows;
  if (!header || body.length === 0) throw bad(where, "it has no header row with rows below it");
  const twice = header.find((name, i) => header.indexOf(name) !== i);
  if (twice !== undefined) throw bad(where, `column "${twice}" comes twice`);
  const columns = header.map((name, c): [string, Column] => {
    const texts = body.map((row) => row[c]!);
    const numeric = texts.every((value) => plainNumber.test(value));
    return [
      name,
      numeric ? { kind: "numbers", source: "f8", data: Float64Array.from(texts, Number), shape: [] } : { kind: "texts", data: texts },
    ];
  });
  return { count: body.length, columns: new Map(columns) };
}

/** Shape of nested lists of numbers; null when they are ragged or hold anything else. */
function shapeOf(value: unknown): number[] | null {
  if (typeof value === "number" || typeof value === "boolean") return [];
  if (!Array.isArray(value) || value.length === 0) return null;
  const inner = value.map(shapeOf);
  const [first] = inner;
  return first && inner.every((shape) => shape !== null && shape.join() === first.join()) ? [value.length, ...first] : null;
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Parses JSON Lines: one object an item; its fields are numbers, nested lists of equal shape, lists of any length, or texts. */
export function parseJsonLines(text: string, where: string): Columns {
  const rows: Record<string, unknown>[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    let row: unknown;
    try {
      row = JSON.parse(line);
    } catch (cause) {
      throw bad(`${where}, line ${i + 1}`, `it is no JSON: ${(cause as Error).message}`, cause);
    }
    if (typeof row !== "object" || row === null || Array.isArray(row)) throw bad(`${where}, line ${i + 1}`, "it is no object");
    rows.push(row as Record<string, unknown>);
  }
  const [first] = rows;
  if (!first) throw bad(where, "it holds no line");
  const columns = new Map<string, Column>();
  for (const field of Object.keys(first)) {
    if (typeof first[field] === "string") {
      const wrong = rows.findIndex((row) => typeof row[field] !== "string");
      if (wrong >= 0)
        throw bad(
          `${where}, item ${wrong + 1}`,
          `field "${field}" is ${JSON.stringify(rows[wrong]![field])?.slice(0, 40) ?? "missing"}; the first item has a text`,
        );
      columns.set(field, { kind: "texts", data: rows.map((row) => row[field] as string) });
      continue;
    }
    const shape = shapeOf(first[field]);
    if (!shape) continue;
    if (shape.length === 1 && rows.some((row) => Array.isArray(row[field]) && row[field].length !== shape[0])) {
      const lists = rows.map((row, i) => {
        const own = shapeOf(row[field]);
        if (own?.length !== 1 && !isEmptyList(row[field]))
          throw bad(`${where}, item ${i + 1}`, `field "${field}" is no list of numbers; the first item has one`);
        return Float64Array.from(row[field] as number[]);
      });
      columns.set(field, { kind: "lists", data: lists });
      continue;
    }
    const size = elementCount(shape);
    const data = new Float64Array(rows.length * size);
    rows.forEach((row, i) => {
      const own = shapeOf(row[field]);
      if (own?.join() !== shape.join())
        throw bad(`${where}, item ${i + 1}`, `field "${field}" has shape [${own?.join() ?? "none"}]; the first item has [${shape.join()}]`);
      data.set(([row[field]] as unknown[]).flat(Infinity).map(Number), i * size);
    });
    columns.set(field, { kind: "numbers", source: "f8", data, shape });
  }
  return { count: rows.length, columns };
}
