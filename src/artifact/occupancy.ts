/**
 * Who uses the store: a lock for the short moments in which files change places, and leases by which
 * a live run keeps its artifacts from being evicted. Both name their process by id and start time,
 * so that what a killed process left behind is recognised and cleared.
 */
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AssayError } from "../base/index.ts";
import type { Disk } from "./disk.ts";

/** Start time of a process in clock ticks since boot, "0" where the system does not tell; undefined when it is gone. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    if (process.platform === "linux") return undefined;
  }
  try {
    process.kill(pid, 0);
    return "0";
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code === "EPERM" ? "0" : undefined;
  }
}

/** `pid-start` of this process. */
export const ownIdentity = (): string => `${process.pid}-${startOf(process.pid) ?? "0"}`;

/** Whether the process of a `pid-start` name, with anything after it, still runs. */
export function isAlive(identity: string): boolean {
  const match = /^(\d+)-(\d+)/.exec(identity);
  return match !== null && startOf(Number(match[1])) === match[2];
}

const lockWaitMs = 30_000;

/** Removes a lock whose owner is gone; only the process whose rename moves that very lock removes it. */
function breakLock(path: string, owner: string): void {
  const aside = `${path}.${ownIdentity()}.broken`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = readFileSync(aside, "utf8");
  // Another process may have broken the lock and taken it anew since we read it: give that one back.
  if (moved !== owner) renameSync(aside, path);
  else rmSync(aside, { force: true });
}

/** Runs `work` while no other process does so in this folder. Throws RUN_BUSY after 30 s of waiting. */
export async function withLock<T>(folder: string, work: () => T): Promise<T> {
  const path = join(folder, "lock");
  for (let waitedMs = 0; ; waitedMs += 20) {
    try {
      writeFileSync(path, ownIdentity(), { flag: "wx" });
      break;
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== "EEXIST") throw fault;
    }
    let owner = "";
    try {
      owner = readFileSync(path, "utf8");
    } catch {
      continue;
    }
    // An empty lock is being written, or its writer died or met a full disk in between.
    if (owner === "" ? waitedMs > 2000 : !isAlive(owner)) breakLock(path, owner);
    else if (waitedMs > lockWaitMs) {
      throw new AssayError("RUN_BUSY", `${folder}: process ${owner.split("-")[0]} has held the artifact store for ${lockWaitMs / 1000} s`);
    } else await sleep(20);
  }
  try {
    return work();
  } finally {
    rmSync(path, { force: true });
  }
}

export interface Leases {
  take(digest: string): void;
  release(): void;
}

/** Leases of this store handle: files `pid-start-n.digest` in the folder. */
export function openLeases(folder: string, disk: Disk, handle: string): Leases {
  disk.makeFolder(folder);
  const held = new Set<string>();
  return {
    take: (digest) => {
      if (held.has(digest)) return;
      disk.write(join(folder, `${handle}.${digest}`), "");
      held.add(digest);
    },
    release: () => {
      for (const digest of held) rmSync(join(folder, `${handle}.${digest}`), { force: true });
      held.clear();
    },
  };
}

/** Digests that a live process holds; leases of dead ones are removed. */
export function leasedDigests(folder: string): Set<string> {
  const leased = new Set<string>();
  for (const name of readdirSync(folder)) {
    if (isAlive(name)) leased.add(name.split(".")[1] ?? "");
    else rmSync(join(folder, name), { force: true });
  }
  return leased;
}
