/** Opens a data file by its ending, inside the workload's own folder unless allowed. */
import { createReadStream, openSync, readFileSync, realpathSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { basename, extname, isAbsolute, relative, resolve } from "node:path";
import { AssayError } from "../base/index.ts";
import type { Columns } from "./columns.ts";
import { readCsv, readJsonLines } from "./lines.ts";
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

function orUnreadable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new AssayError("DATA_UNREADABLE", `${path} cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown fault"})`, {
      cause,
    });
  }
}
const readBytes = (path: string): Buffer => orUnreadable(path, () => readFileSync(path));
/** Opened at once, so that a missing file is told here and not by a stream later. */
const openStream = (path: string): Readable => orUnreadable(path, () => createReadStream(path, { fd: openSync(path, "r") }));

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
export async function readColumns(path: string): Promise<Columns> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return readImageFolder(path);
  switch (extname(path).toLowerCase()) {
    case ".npz":
      return parseNpz(readBytes(path), path);
    case ".npy": {
      const { count, column } = parseNpy(readBytes(path), path);
      return { count, columns: new Map([[basename(path, extname(path)), column]]) };
    }
    case ".csv":
      return readCsv(() => openStream(path), path);
    case ".jsonl":
    case ".ndjson":
      return readJsonLines(openStream(path), path);
    default:
      throw new AssayError(
        "DATA_UNREADABLE",
        `${path}: the ending ${extname(path) || "(none)"} is not known; expected .npz, .npy, .jsonl, .csv or a folder of images`,
      );
  }
}
