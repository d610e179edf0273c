/** `assay report` and `assay verify`: a run's folder, read again. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { changedFields } from "../artifact/index.ts";
import { AssayError, type Json } from "../base/index.ts";
import { loadEvidence } from "../bench/index.ts";
import { decide, type Verdict } from "../decide/index.ts";
import { renderTerminal } from "../report/index.ts";
import { publish, reportName, shownPath, verdictName, verdictText } from "./decide.ts";
import { version } from "./version.ts";

function finished(folder: string): { verdict: Verdict } {
  const { evidence } = loadEvidence(folder);
  if (!evidence.ends.some(({ stage }) => stage === "all"))
    throw new AssayError("RUN_UNREADABLE", `${folder} is not finished; continue it with assay decide WORKLOAD --resume ${folder}`);
  return { verdict: decide(evidence, version) };
}

/** Draws the report again from the records. */
export function runReport(path: string, { open }: { open?: boolean }): number {
  const folder = resolve(path);
  const { verdict } = finished(folder);
  publish(folder, verdict);
  const report = join(folder, reportName);
  const colour = process.stdout.isTTY && !process.env["NO_COLOR"];
  process.stdout.write(renderTerminal(verdict, { colour, columns: process.stdout.columns ?? 100, reportPath: shownPath(report) }));
  if (open) {
    const [command, ...args] =
      process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
    const child = spawn(command!, [...args, report], { stdio: "ignore", detached: true });
    child.on("error", () => process.stderr.write(`No viewer found; open ${report} in a browser.\n`));
    child.unref();
  }
  return 0;
}

/** Recomputes the verdict from the records and compares. Throws RUN_MISMATCH naming what differs. */
export function runVerify(path: string): number {
  const folder = resolve(path);
  const { verdict } = finished(folder);
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
