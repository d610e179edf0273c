/**
 * The journal of a run: one line a finished step, each chained to the one before by digest and naming
 * the files that belong to it with theirs. A line is on the disk before the step counts as done; a
 * line torn by a kill is dropped at the next opening. Not signed: the chain shows a change, not who made it.
 */
import { closeSync, existsSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { AssayError, asAssayError, canonicalJson, digestBytes, type Json } from "../base/index.ts";
import { flushFolder, writeWhole } from "../host/index.ts";

/** A file of the run folder that an entry vouches for. */
export interface FileRecord {
  /** Relative to the run folder, with forward slashes. */
  path: string;
  bytes: number;
  sha256: string;
}

export interface Entry {
  seq: number;
  /** Digest of the entry before; the first has 64 zeros. */
  prev: string;
  kind: string;
  body: Json;
  files: readonly FileRecord[];
  /** SHA-256 of the canonical JSON of all other fields. */
  digest: string;
}

export interface Journal {
  readonly folder: string;
  readonly entries: readonly Entry[];
  /** Adds a step. The files must be written and closed; they are flushed here. */
  append(kind: string, body: Json, files?: readonly string[]): Entry;
  close(): void;
}

const name = "journal.jsonl";
const lockName = "writer.lock";
const origin = "0".repeat(64);

const hashFile = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

const digestOf = ({ seq, prev, kind, body, files }: Omit<Entry, "digest">): string =>
  digestBytes(canonicalJson({ seq, prev, kind, body, files: files as unknown as Json }));

function parseLine(line: string, seq: number, prev: string): Entry {
  const fault = (what: string): AssayError => new AssayError("RUN_MISMATCH", `${name}, line ${seq + 1}: ${what}`);
  let entry: Entry;
  try {
    entry = JSON.parse(line) as Entry;
  } catch {
    throw fault("no JSON; the line was changed");
  }
  if (entry.seq !== seq) throw fault(`entry ${entry.seq} stands where ${seq} is expected; lines were removed or moved`);
  if (entry.prev !== prev) throw fault("it does not follow from the line before");
  if (digestOf(entry) !== entry.digest) throw fault("its content does not match its digest");
  return entry;
}

/** The entries of a run, chain checked. A last line without its end is dropped: it was never reported as done. */
export function readJournal(folder: string): { entries: Entry[]; soundBytes: number } {
  const path = join(folder, name);
  if (!existsSync(path)) throw new AssayError("RUN_UNREADABLE", `${folder} has no ${name}; it is no run folder`);
  const text = readFileSync(path, "utf8");
  const end = text.lastIndexOf("\n") + 1;
  const lines = text.slice(0, end).split("\n").slice(0, -1);
  const entries: Entry[] = [];
  for (const line of lines) entries.push(parseLine(line, entries.length, entries.at(-1)?.digest ?? origin));
  return { entries, soundBytes: Buffer.byteLength(text.slice(0, end)) };
}

/** Compares every file that the entries vouch for with its digest. Throws `RUN_MISMATCH` that names the first that differs. */
export function checkFiles(folder: string, entries: readonly Entry[]): void {
  for (const { path, sha256, bytes } of entries.flatMap((entry) => entry.files)) {
    const file = join(folder, path);
    if (!existsSync(file)) throw new AssayError("RUN_MISMATCH", `${path} is missing`);
    if (statSync(file).size !== bytes)
      throw new AssayError("RUN_MISMATCH", `${path} has ${statSync(file).size} bytes; ${bytes} were recorded`);
    if (hashFile(file) !== sha256) throw new AssayError("RUN_MISMATCH", `${path} was changed after it was recorded`);
  }
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code === "EPERM";
  }
};

function lock(folder: string): () => void {
  const path = join(folder, lockName);
  if (existsSync(path)) {
    const pid = Number(readFileSync(path, "utf8"));
    if (pid !== process.pid && pid > 0 && alive(pid)) throw new AssayError("RUN_BUSY", `process ${pid} is writing to ${folder}`);
  }
  writeWhole(path, String(process.pid));
  return () => rmSync(path, { force: true });
}

/** Opens a run for writing: makes the folder, or continues after the last whole line. One writer at a time. */
export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true });
  const release = lock(folder);
  const path = join(folder, name);
  const known = existsSync(path) ? readJournal(folder) : { entries: [], soundBytes: 0 };
  const handle = openSync(path, "a+");
  ftruncateSync(handle, known.soundBytes);
  const entries = known.entries;
  let sound = known.soundBytes;

  const append = (kind: string, body: Json, files: readonly string[] = []): Entry => {
    const records = files.map((file) => ({ path: file, bytes: statSync(join(folder, file)).size, sha256: hashFile(join(folder, file)) }));
    const fields = { seq: entries.length, prev: entries.at(-1)?.digest ?? origin, kind, body, files: records };
    const entry: Entry = { ...fields, digest: digestOf(fields) };
    const line = Buffer.from(`${JSON.stringify(entry)}\n`);
    try {
      for (let at = 0; at < line.byteLength;) at += writeSync(handle, line, at);
      fsyncSync(handle);
    } catch (fault) {
      try {
        ftruncateSync(handle, sound);
      } catch {
        // The torn line is dropped at the next opening.
      }
      throw asAssayError(fault);
    }
    sound += line.byteLength;
    entries.push(entry);
    return entry;
  };
  flushFolder(folder);
  return {
    folder,
    entries,
    append,
    close: () => {
      closeSync(handle);
      release();
    },
  };
}
