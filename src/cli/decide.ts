/** `assay decide`: from a workload file to a verdict and a report. */
import { existsSync, readdirSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { basename, join, relative, resolve } from "node:path";
import { openStore } from "../artifact/index.ts";
import { AssayError, digestBytes, parseDurationMs, type Json } from "../base/index.ts";
import { addStep, createBuilder, emptyEvidence, openFleet, runExperiment, runRecordSchema, type Evidence } from "../bench/index.ts";
import { decide, judges, requestsNeeded, type Verdict } from "../decide/index.ts";
import { openJournal, readJournal, type Journal } from "../evidence/index.ts";
import { cacheFolder, writeWhole } from "../host/index.ts";
import { renderHtml, renderTerminal } from "../report/index.ts";
import { latencyTargets, threadsOf } from "../workload/index.ts";
import { progressLine } from "./progress.ts";
import { readQuestion, runRecordOf, type Question } from "./question.ts";
import { version } from "./version.ts";

export interface DecideOptions {
  out?: string;
  budget?: string;
  json?: boolean;
  resume?: string;
  allowOutside?: boolean;
}

const cacheLimitBytes = 2 * 2 ** 30;
const buildLimitMs = 10 * 60_000;
/** A request that takes this many times the slowest target, or this long, is given up. */
const timeoutTargets = 10;
const leastTimeoutMs = 2000;

export const verdictName = "verdict.json";
export const reportName = "report.html";
export const verdictText = (verdict: Verdict): string => `${JSON.stringify(verdict, undefined, 2)}\n`;

const exitOf: Record<Verdict["answer"]["kind"], number> = { winner: 0, keep: 0, "no-difference": 0, "none-meets": 3, "cannot-tell": 4 };

/** Turns Ctrl-C and SIGTERM into one abort. */
function interruption(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals): void =>
    controller.abort(new AssayError("INTERRUPTED", `stopped by ${name}; what was measured is kept`));
  const names: NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
  for (const name of names) process.on(name, stop);
  return { signal: controller.signal, release: () => names.forEach((name) => process.off(name, stop)) };
}

function newFolder(out: string | undefined, name: string): string {
  if (out === undefined) {
    const stamp = new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
    const base = resolve("assay-runs", `${name}-${stamp}`);
    let folder = base;
    for (let i = 2; existsSync(folder); i++) folder = `${base}-${i}`;
    return folder;
  }
  const folder = resolve(out);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new AssayError("OUT_EXISTS", `${out} is not empty`);
  return folder;
}

/** Opens the journal with the question in it, a new one or the one to continue. */
function begin(path: string, question: Question, options: DecideOptions): { journal: Journal; evidence: Evidence } {
  if (options.resume !== undefined) {
    const folder = resolve(options.resume);
    readJournal(folder);
    const journal = openJournal(folder);
    const run = runRecordSchema.safeParse(journal.entries[0]?.body);
    if (!run.success) throw new AssayError("RUN_UNREADABLE", `${options.resume}: its journal does not begin with the question of the run`);
    const now = runRecordOf(question, run.data);
    const differs = (["version", "workloadDigest", "digests", "versions", "machine"] as const).find(
      (key) => JSON.stringify(now[key]) !== JSON.stringify(run.data[key]),
    );
    if (differs)
      throw new AssayError(
        "RUN_DIFFERS",
        `${options.resume} was started with another ${differs === "workloadDigest" ? "workload file" : differs}`,
      );
    const evidence = emptyEvidence(run.data);
    for (const entry of journal.entries.slice(1)) addStep(evidence, folder, entry);
    return { journal, evidence };
  }
  const budgetMs = options.budget === undefined ? question.workload.budget.wallSeconds * 1000 : parseDurationMs(options.budget);
  const journal = openJournal(newFolder(options.out, question.workload.name));
  const command = `assay decide ${basename(path)}${options.budget === undefined ? "" : ` --budget ${options.budget}`}`;
  const record = runRecordOf(question, { rootSeed: randomBytes(8).toString("hex"), budgetMs, command });
  journal.append("run", record as unknown as Json);
  return { journal, evidence: emptyEvidence(runRecordSchema.parse(JSON.parse(JSON.stringify(record)))) };
}

async function measure(
  question: Question,
  journal: Journal,
  evidence: Evidence,
  options: DecideOptions,
  signal: AbortSignal,
): Promise<void> {
  const { workload, models, dataset, funnel, machine } = question;
  const { traffic } = workload;
  const store = openStore(join(cacheFolder(), "artifacts"), { limitBytes: cacheLimitBytes });
  // In the store, which clears what killed processes leave.
  const workFolder = store.workFolder();
  const slowest = Math.max(0, ...latencyTargets(workload).map(([, ms]) => ms));
  const line = progressLine(process.stderr, options.json === true && !process.stderr.isTTY);
  const fleet = openFleet({
    dataset,
    arrival: typeof traffic.arrival === "string" ? { kind: traffic.arrival } : { kind: "gamma", cv: traffic.arrival.gamma.cv },
    itemsPerRequest: traffic.itemsPerRequest,
    cores: threadsOf(workload, machine.cores),
    timeoutMs: Math.max(leastTimeoutMs, timeoutTargets * slowest),
    signal,
  });
  try {
    await runExperiment({
      journal,
      evidence,
      candidates: funnel.candidates,
      models,
      outputsOf: (id) => dataset.outputsOf(id),
      builder: createBuilder({ models, dataset, store, machine, workFolder, maxDurationMs: buildLimitMs, signal }),
      fleet,
      judges,
      budgetMs: evidence.run.budgetMs,
      ratePerSecond: traffic.ratePerSecond ?? null,
      requestsNeeded: requestsNeeded(workload),
      latencyLimitMs: latencyTargets(workload).reduce<number | null>((least, [, ms]) => Math.min(least ?? ms, ms), null),
      signal,
      onProgress: (progress) => line.show(progress),
    });
  } finally {
    line.end();
    await fleet.close();
    store.discard(workFolder);
    store.close();
  }
}

/** Writes verdict and report beside the records. */
export function publish(folder: string, verdict: Verdict): void {
  writeWhole(join(folder, verdictName), verdictText(verdict));
  writeWhole(join(folder, reportName), renderHtml(verdict));
}

export const shownPath = (path: string): string => {
  const way = relative(process.cwd(), path);
  return way.startsWith("..") ? path : `./${way}`;
};

/** Runs the command; returns the exit status. */
export async function runDecide(path: string, options: DecideOptions): Promise<number> {
  const { signal, release } = interruption();
  try {
    const question = await readQuestion(path, { allowOutside: options.allowOutside === true });
    const { journal, evidence } = begin(path, question, options);
    const { folder } = journal;
    try {
      if (!options.json)
        process.stderr.write(
          `Run folder: ${shownPath(folder)} · ${evidence.run.candidates.length} candidates · budget ${evidence.run.budgetMs / 1000} s\n`,
        );
      if (!evidence.ends.some(({ stage }) => stage === "all")) await measure(question, journal, evidence, options, signal);
      const verdict = decide(evidence, version);
      publish(folder, verdict);
      journal.append("verdict", { digest: digestBytes(verdictText(verdict)), decidedBy: version });
      if (options.json) process.stdout.write(verdictText(verdict));
      else {
        const colour = process.stdout.isTTY && !process.env["NO_COLOR"];
        process.stdout.write(
          renderTerminal(verdict, { colour, columns: process.stdout.columns ?? 100, reportPath: shownPath(join(folder, reportName)) }),
        );
      }
      return exitOf[verdict.answer.kind];
    } catch (fault) {
      if (signal.aborted) process.stderr.write(`Continue with: assay decide ${path} --resume ${shownPath(folder)}\n`);
      throw fault;
    } finally {
      journal.close();
    }
  } finally {
    release();
  }
}
