// Installs a peer by its script, counts checks, starts and ends its server.
import { execFile, spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const run = promisify(execFile);
export const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const cache = process.env.ASSAY_PEERS_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "assay", "peers");
const deadline = Date.now() + 40 * 60_000;
export const counts = { passed: 0, failed: 0, skipped: 0 };

export async function check(name, work) {
  try {
    await work();
    counts.passed++;
    console.log(`ok      ${name}`);
  } catch (fault) {
    counts.failed++;
    console.log(`FAILED  ${name}: ${fault.message}`);
  }
}

/** The last line that the peer's script prints; null = it cannot be had, and its checks are skipped. */
export async function peer(name, checks, install = []) {
  try {
    const left = deadline - Date.now();
    if (left < 10_000) throw new Error("the suite's time is spent");
    const { stdout } = await run("bash", [here(`install-${name}.sh`), join(cache, name), ...install], { timeout: left, maxBuffer: 1e8 });
    return stdout.trim().split("\n").at(-1);
  } catch (fault) {
    const reason = fault.killed ? "its installation took too long" : (fault.stderr ?? fault.message).trim().split("\n").at(-1);
    skip(name, checks, reason);
    return null;
  }
}

export function skip(name, checks, reason) {
  counts.skipped += checks;
  console.log(`skipped ${name} (${checks} checks): ${reason}`);
}

/** Ports that no other check uses: sixteen for each call. */
let nextPort = 18_000 + (process.pid % 100) * 64;
export const freePort = () => (nextPort += 16);

/** Runs checks against a server that a script starts in the foreground; it is ended behind them. */
export async function withServer(name, checks, { home, model, port, ready }, work) {
  const server = spawn("bash", [here(`start-${name}.sh`), home, model, String(port)], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  server.stderr.on("data", (piece) => (log = (log + piece).slice(-3000)));
  const gone = new Promise((resolve) => server.once("exit", resolve));
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}${ready}`).catch(() => null))?.status === 200;
  for (let i = 0; i < 120 && !(await isReady()) && server.exitCode === null; i++) await new Promise((resolve) => setTimeout(resolve, 500));
  if (await isReady()) await work();
  else skip(name, checks, `it did not start: ${log.trim().split("\n").at(-1)}`);
  server.kill("SIGTERM");
  const timer = setTimeout(() => server.kill("SIGKILL"), 15_000);
  await gone;
  clearTimeout(timer);
}

export const equal = (found, expected, what) => {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${what}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
};
export const within = (found, [low, high], what) => {
  if (!(found >= low && found <= high)) throw new Error(`${what}: ${found}, expected ${low} to ${high}`);
};
export const close = (found, expected, what) => {
  const far = Math.max(...expected.map((value, i) => Math.abs(value - found[i])));
  if (!(found.length === expected.length && far < 1e-4)) throw new Error(`${what} differs by ${far}`);
};
