/** `assay report`, `assay verify` and `assay compare`: the folders of runs, read again. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { changedFields } from "../artifact/index.ts";
import { AssayError, type Json } from "../base/index.ts";
import { isEndpointRun } from "../bench/index.ts";
import { compareVerdicts, type Verdict } from "../decide/index.ts";
import { renderComparison } from "../report/index.ts";
import { showVerdict } from "./decide.ts";
import { compareEndpoints, reportEndpoint, verifyEndpoint } from "./bench/run.ts";
import { failKinds, statusOf, writeExchange, type ExchangeOptions } from "./exchange.ts";
import { finishedRun, publish, reportName, verdictName, verdictText } from "./run-folder.ts";
import { version } from "./version.ts";

function openFile(path: string): void {
  const [command, ...args] =
    process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  const child = spawn(command!, [...args, path], { stdio: "ignore", detached: true });
  child.on("error", () => process.stderr.write(`No viewer found; open ${path} in a browser.\n`));
  child.unref();
}

/** Draws the report again from the records. */
export function runReport(path: string, { open, ...exchange }: ExchangeOptions & { open?: boolean }): number {
  const folder = resolve(path);
  if (isEndpointRun(folder)) {
    const { status, report } = reportEndpoint(folder, exchange);
    if (open) openFile(report);
    return status;
  }
  const failOn = failKinds(exchange.failOn);
  const { verdict } = finishedRun(folder);
  publish(folder, verdict);
  showVerdict(verdict, folder);
  writeExchange(verdict, exchange);
  if (open) openFile(join(folder, reportName));
  return failOn === null ? 0 : statusOf(verdict, failOn);
}

/** Recomputes the verdict from the records and compares. Throws RUN_MISMATCH naming what differs. */
export function runVerify(path: string): number {
  const folder = resolve(path);
  if (isEndpointRun(folder)) return verifyEndpoint(folder);
  const { verdict } = finishedRun(folder);
  let stored: string;
  try {
    stored = readFileSync(join(folder, verdictName), "utf8");
  } catch (cause) {
    throw new AssayError("RUN_MISMATCH", `${verdictName} is missing`, { cause });
  }
  if (stored === verdictText(verdict)) {
    process.stdout.write(`The records give the stored verdict: ${verdict.answer.kind}. ${verdict.runs.length} runs checked.\n`);
    return 0;
  }
  let other: Verdict;
  try {
    other = JSON.parse(stored) as Verdict;
  } catch (cause) {
    throw new AssayError("RUN_MISMATCH", `${verdictName} is no JSON`, { cause });
  }
  const changed = changedFields(other as unknown as Json, verdict as unknown as Json);
  if (other.decidedBy !== version) {
    const rest = changed.filter((field) => field !== "decidedBy");
    const said = rest.length === 0 ? "this version decides the same" : `this version differs in ${rest.slice(0, 10).join(", ")}`;
    process.stdout.write(`Decided by ${other.decidedBy}; this is ${version}: ${said}.\n`);
    return 0;
  }
  throw new AssayError(
    "RUN_MISMATCH",
    `${verdictName} differs from what the records give in: ${changed.slice(0, 20).join(", ") || "its layout"}`,
    { details: { changed } },
  );
}

/** Says where two verdicts agree; returns 0 when they do, else 3. */
export function showComparison(first: Verdict, second: Verdict, json: boolean): number {
  const comparison = compareVerdicts(first, second);
  const { agrees, disagreements, differences, candidates } = comparison;
  const brief = { agrees, disagreements, differences, candidates: candidates.map(({ name, latency, cpu }) => ({ name, latency, cpu })) };
  process.stdout.write(json ? `${JSON.stringify(brief, undefined, 2)}\n` : renderComparison(first, second, comparison));
  return agrees ? 0 : 3;
}

/** Compares two finished runs, or two sides of several runs against endpoints. */
export function runCompare(paths: readonly string[], { json, with: others }: { json?: boolean; with?: string[] }): number {
  if (others === undefined && paths.length !== 2)
    throw new AssayError("USAGE", `${paths.length} runs are given: name two, or several on each side, as in A1 A2 --with B1 B2`);
  const [first, second] = others === undefined ? [paths.slice(0, 1), paths.slice(1)] : [paths, others];
  const kinds = new Set([...first, ...second].map((path) => isEndpointRun(resolve(path))));
  if (kinds.size > 1) throw new AssayError("USAGE", "runs of a decision and runs against endpoints cannot be compared with each other");
  if (kinds.has(true)) return compareEndpoints(first, second, json === true);
  if (first.length > 1 || second.length > 1) throw new AssayError("USAGE", "of decisions two runs are compared");
  const [a, b] = [first, second].map(([path]) => finishedRun(resolve(path!)).verdict) as [Verdict, Verdict];
  return showComparison(a, b, json === true);
}
