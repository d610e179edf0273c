/**
 * Starts and ends the embedded model server: a process (or a cluster of replicas) of its own, so that
 * what it uses can be counted, and what it loads cannot disturb the one who measures.
 */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { AssayError, redact } from "../base/index.ts";
import { entryUrl } from "../host/index.ts";
import type { TensorSpec } from "../tensor/index.ts";
import type { ServingSettings, SessionSettings } from "../workload/index.ts";

export interface ServedModel {
  name: string;
  /** The ONNX file. */
  path: string;
  inputs: readonly TensorSpec[];
  outputs: readonly TensorSpec[];
}

export interface ServerOptions {
  model: ServedModel;
  session: SessionSettings;
  serving: ServingSettings;
  /** Address to listen on; 127.0.0.1 unless said. */
  host?: string;
  /** 0 = any free port. */
  port?: number;
  /** Cores the server's processes may use (the last ones), where the system can bind them; absent = all. */
  cores?: number;
}

export interface ModelServer {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Every process of the server. */
  pids(): readonly number[];
  readonly exited: Promise<{ code: number | null; signal: string | null; lastLines: string }>;
  /** Lets it finish what it has, then ends it. Safe to call twice. */
  close(): Promise<void>;
}

/** What the parent, the server and its replicas tell each other. */
export interface StartMessage {
  start: Required<Pick<ServerOptions, "model" | "session" | "serving" | "host" | "port">>;
}
export type ToServer = StartMessage | { drain: true };
export type ToReplica = { drain: true } | { giveMetrics: number } | { metricsText: string };
export type FromServer = { ready: { port: number; pids: number[] } } | { failed: string };

const startWithinMs = 60_000;
const drainWithinMs = 5_000;

/** The cores that this process may use; null where it cannot be told or bound to fewer. */
function bindableCores(): number[] | null {
  try {
    execFileSync("taskset", ["--version"], { stdio: "ignore" });
    const list = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
    const cores = list.split(",").flatMap((part) => {
      const [from, to = from] = part.split("-").map(Number) as [number, number?];
      return Array.from({ length: to! - from + 1 }, (_, i) => from + i);
    });
    return cores.length > 0 && cores.every(Number.isInteger) ? cores : null;
  } catch {
    return null;
  }
}

function command(entry: string, cores: number | undefined): [string, string[]] {
  const all = cores === undefined ? null : bindableCores();
  if (cores === undefined || all === null || cores >= all.length) return [process.execPath, [entry]];
  return ["taskset", ["-c", all.slice(-cores).join(","), process.execPath, entry]];
}

/**
 * Starts a server and waits until it answers. Throws SERVER_START with the reason and its last lines,
 * INTERRUPTED when the signal fires first. The signal also ends a running server at once.
 */
export async function startServer(options: ServerOptions, signal?: AbortSignal): Promise<ModelServer> {
  signal?.throwIfAborted();
  const host = options.host ?? "127.0.0.1";
  const [file, args] = command(fileURLToPath(entryUrl(import.meta.url, "./server.entry.js")), options.cores);
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe", "ipc"] });
  let lines = "";
  const keep = (piece: Buffer): void => void (lines = (lines + piece.toString()).slice(-4000));
  child.stdout!.on("data", keep);
  child.stderr!.on("data", keep);
  const exited = new Promise<{ code: number | null; signal: string | null; lastLines: string }>((resolve) => {
    child.once("error", (fault) => resolve({ code: null, signal: null, lastLines: fault.message }));
    child.once("exit", (code, by) => resolve({ code, signal: by, lastLines: redact(lines.trim()) }));
  });
  const kill = (): void => void child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  void exited.then(() => signal?.removeEventListener("abort", kill));

  const { model, session, serving, port = 0 } = options;
  const started = new Promise<FromServer>((resolve) => child.once("message", resolve));
  child.send({ start: { model, session, serving, host, port } } satisfies StartMessage, () => {});
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<FromServer>((resolve) => {
    late = setTimeout(() => resolve({ failed: `it was not ready after ${startWithinMs / 1000} s` }), startWithinMs);
  });
  const ended = exited.then(({ code, signal: by, lastLines }): FromServer => ({
    failed: `it ended (${by ?? `exit ${code}`}) ${lastLines}`,
  }));
  const first = await Promise.race([started, tooLate, ended]);
  clearTimeout(late);
  if ("failed" in first) {
    kill();
    await exited;
    signal?.throwIfAborted();
    throw new AssayError("SERVER_START", `the model server for ${model.name} did not start: ${first.failed}`);
  }
  const { pids } = first.ready;
  return {
    url: `http://${host}:${first.ready.port}`,
    host,
    port: first.ready.port,
    pids: () => pids,
    exited,
    async close() {
      if (child.connected) child.send({ drain: true } satisfies ToServer, () => {});
      const timer = setTimeout(kill, drainWithinMs);
      await exited;
      clearTimeout(timer);
    },
  };
}
