/** Files that are whole or absent: written beside their place, flushed to the disk, then renamed. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Flushes a folder's own entries; where the system refuses that (Windows) the rename stands alone. */
export function flushFolder(folder: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Writes the whole file or leaves what was there; makes the folder. Throws the system's own fault (ENOSPC, EACCES). */
export function writeWhole(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.${process.pid}.partial`;
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  try {
    const handle = openSync(partial, "w");
    try {
      for (let at = 0; at < bytes.byteLength;) at += writeSync(handle, bytes, at);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(partial, path);
    flushFolder(dirname(path));
  } catch (fault) {
    rmSync(partial, { force: true });
    throw fault;
  }
}
