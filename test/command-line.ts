/** Runs the built command line as a user would, and watches what it leaves behind. */
import { spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}
export interface Running {
  child: ChildProcess;
  /** Resolves when stderr or stdout has said that. */
  said(pattern: RegExp): Promise<void>;
  ended: Promise<Ended>;
}

/** Starts `assay` with its own cache. */
export function startAssay(args: readonly string[], options: { cwd: string; cache: string; wrap?: string[] }): Running {
  const [command, ...rest] = [...(options.wrap ?? []), process.execPath, main, ...args];
  const child = spawn(command!, rest, {
    cwd: options.cwd,
    env: { ...process.env, ASSAY_CACHE: options.cache, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  const waiting: { pattern: RegExp; resolve: () => void }[] = [];
  const check = (): void => waiting.forEach(({ pattern, resolve }) => pattern.test(stdout + stderr) && resolve());
  child.stdout.on("data", (piece: Buffer) => {
    stdout += piece.toString();
    check();
  });
  child.stderr.on("data", (piece: Buffer) => {
    stderr += piece.toString();
    check();
  });
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })));
  return {
    child,
    ended,
    said: (pattern) =>
      Promise.race([
        new Promise<void>((resolve) => {
          waiting.push({ pattern, resolve });
          check();
        }),
        ended.then(({ stderr: text }) => {
          if (!pattern.test(stdout + text)) throw new Error(`it ended before it said ${String(pattern)}:\n${text}`);
        }),
      ]),
  };
}

export const assay = (args: readonly string[], options: { cwd: string; cache: string; wrap?: string[] }): Promise<Ended> =>
  startAssay(args, options).ended;

/** A server or worker started from this very build: other clones on the machine are not ours. */
const ours = new RegExp(
  `^\\S+ ${fileURLToPath(new URL("../dist/", import.meta.url)).replace(/[.+]/g, "\\$&")}(serving|build)/\\S*entry\\.js`,
);

/** Processes of servers and workers that are left. */
export function childrenLeft(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return ours.test(command) ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });
}
