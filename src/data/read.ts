/** Opens a data file by its ending, inside the workload's own folder unless allowed. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, extname, isAbsolute, relative, resolve } from "node:path";
import { AssayError } from "../base/index.ts";
import type { Columns } from "./columns.ts";
import { parseCsv, parseJsonLines } from "./lines.ts";
import { readImageFolder } from "./images.ts";
import { parseNpy, parseNpz } from "./numpy.ts";

/** The absolute path; throws PATH_OUTSIDE when it leaves the folder (links are followed). */
export function insideFolder(folder: string, path: string, allowOutside: boolean): string {
  const whole = resolve(folder, path);
  const real = (at: string): string => {
    try {
      return realpathSync(at);
    } catch {
      return at;
    }
  };
  const way = relative(real(folder), real(whole));
  if (!allowOutside && (way.startsWith("..") || isAbsolute(way)))
    throw new AssayError("PATH_OUTSIDE", `${path} leaves the folder of the workload file`);
  return whole;
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new AssayError("DATA_UNREADABLE", `${path} cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown fault"})`, {
      cause,
    });
  }
}

/** One character a line; with a space after the last where asked. Throws DATA_UNREADABLE. */
export function readCharset(path: string, space: boolean): string[] {
  const lines = readBytes(path)
    .toString("utf8")
    .replace(/\r?\n$/, "")
    .split(/\r?\n/);
  const empty = lines.indexOf("");
  if (empty >= 0) throw new AssayError("DATA_UNREADABLE", `${path}:${empty + 1} is empty; expected one character a line`);
  return space ? [...lines, " "] : lines;
}

/** Reads .npz, .npy, .jsonl, .csv, or a folder of images. Throws DATA_UNREADABLE, naming the place. */
export function readColumns(path: string): Columns {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return readImageFolder(path);
  const bytes = readBytes(path);
  switch (extname(path).toLowerCase()) {
    case ".npz":
      return parseNpz(bytes, path);
    case ".npy": {
      const { count, column } = parseNpy(bytes, path);
      return { count, columns: new Map([[basename(path, extname(path)), column]]) };
    }
    case ".csv":
      return parseCsv(bytes.toString("utf8"), path);
    case ".jsonl":
    case ".ndjson":
      return parseJsonLines(bytes.toString("utf8"), path);
    default:
      throw new AssayError(
        "DATA_UNREADABLE",
        `${path}: the ending ${extname(path) || "(none)"} is not known; expected .npz, .npy, .jsonl, .csv or a folder of images`,
      );
  }
}
