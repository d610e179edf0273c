/** The writes of the store, as one small interface, so that a test can make each of them meet a full disk. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { flushFolder, writeWhole } from "../host/index.ts";

export interface Disk {
  makeFolder: (path: string) => void;
  /** Whole or not at all, flushed. */
  write: (path: string, text: string) => void;
  /** Flushes a file that someone else wrote. */
  flush: (path: string) => void;
  /** Renames within one file system and flushes the folder. */
  rename: (from: string, to: string) => void;
  /** Removes a file or folder; absent is fine. */
  remove: (path: string) => void;
}

/** The disk of this machine. Every call throws the system's own fault. */
export const realDisk: Disk = {
  makeFolder: (path) => void mkdirSync(path, { recursive: true }),
  write: writeWhole,
  flush: (path) => {
    const handle = openSync(path, "r+");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  },
  rename: (from, to) => {
    renameSync(from, to);
    flushFolder(to.slice(0, to.lastIndexOf("/")) || ".");
  },
  remove: (path) => rmSync(path, { recursive: true, force: true }),
};
