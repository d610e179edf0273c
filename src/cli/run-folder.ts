/** A run's folder: begun anew, continued, or begun to repeat another; and what is published in it. */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { AssayError, parseDurationMs, type Json } from "../base/index.ts";
import { addStep, emptyEvidence, loadEvidence, runRecordSchema, type Evidence, type RunRecord } from "../bench/index.ts";
import { decide, type Verdict } from "../decide/index.ts";
import { openJournal, readJournal, type Journal } from "../evidence/index.ts";
import { writeWhole } from "../host/index.ts";
import { renderHtml } from "../report/index.ts";
import { runRecordOf, type Question } from "./question.ts";
import { version } from "./version.ts";

export const verdictName = "verdict.json";
export const reportName = "report.html";
export const verdictText = (verdict: Verdict): string => `${JSON.stringify(verdict, undefined, 2)}\n`;

export interface OpenRun {
  journal: Journal;
  evidence: Evidence;
}

export interface BeginOptions {
  out?: string | undefined;
  budget?: string | undefined;
  /** The command that repeats it, for the report. */
  command: string;
  /** File of the space of candidates, where it is none of the workload's. */
  space?: string | null | undefined;
}

/** A new folder for a run. Throws OUT_EXISTS. */
export function newFolder(out: string | undefined, name: string): string {
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

/** Opens a new journal with the question in it. Throws OUT_EXISTS. */
export function beginRun(path: string, question: Question, { out, budget, command, space }: BeginOptions): OpenRun {
  const budgetMs = budget === undefined ? question.workload.budget.wallSeconds * 1000 : parseDurationMs(budget);
  const folder = newFolder(out, question.workload.name);
  const journal = openJournal(folder);
  const workloadFile = relative(folder, resolve(path));
  const spaceFile = space == null ? null : relative(folder, resolve(space));
  const record = runRecordOf(question, { rootSeed: randomBytes(8).toString("hex"), budgetMs, command, workloadFile, spaceFile });
  journal.append("run", record as unknown as Json);
  return { journal, evidence: emptyEvidence(runRecordSchema.parse(JSON.parse(JSON.stringify(record)))) };
}

/** What must be the same for a run to go on, or to be repeated. Throws RUN_DIFFERS. */
function sameQuestion(path: string, now: RunRecord, then: RunRecord, keys: readonly (keyof RunRecord)[]): void {
  const differs = keys.find((key) => JSON.stringify(now[key]) !== JSON.stringify(then[key]));
  if (differs)
    throw new AssayError(
      "RUN_DIFFERS",
      `${path} was made with another ${differs === "workloadDigest" ? "workload file or --space" : differs}`,
    );
}

/** Opens the journal of an interrupted run. Throws RUN_UNREADABLE, RUN_DIFFERS. */
export function continueRun(path: string, question: Question): OpenRun {
  const folder = resolve(path);
  readJournal(folder);
  const journal = openJournal(folder);
  const run = runRecordSchema.safeParse(journal.entries[0]?.body);
  if (!run.success) throw new AssayError("RUN_UNREADABLE", `${path}: its journal does not begin with the question of the run`);
  const keys = ["version", "workloadDigest", "digests", "versions", "machine"] as const;
  const now = runRecordOf(question, run.data);
  sameQuestion(path, now, run.data, keys);
  if (now.candidates.some(({ id }, at) => id !== run.data.candidates[at]?.id) || now.candidates.length !== run.data.candidates.length)
    throw new AssayError("RUN_DIFFERS", `${path} was started with another choice of candidates (--only, --exclude)`);
  const evidence = emptyEvidence(run.data);
  for (const entry of journal.entries.slice(1)) addStep(evidence, folder, entry);
  return { journal, evidence };
}

/**
 * Puts the finalists of another run into a new one, so that the same candidates are measured again.
 * They are found by name: another version of the runtime gives them other ids. Throws RUN_DIFFERS.
 */
export function repeatFinalists({ journal, evidence }: OpenRun, path: string, original: Evidence): void {
  sameQuestion(path, evidence.run, original.run, ["workloadDigest", "digests"]);
  const { screening } = original;
  if (!screening) throw new AssayError("RUN_UNREADABLE", `${path} has no finalists to measure again`);
  const nameOf = new Map(original.run.candidates.map(({ id, name }) => [id, name]));
  const idOf = new Map(evidence.run.candidates.map(({ id, name }) => [name, id]));
  const finalists = screening.finalists.map((id) => {
    const own = idOf.get(nameOf.get(id)!);
    if (own === undefined) throw new AssayError("RUN_DIFFERS", `${path} measured ${nameOf.get(id)!}, which is no candidate here`);
    return own;
  });
  const entry = journal.append("screening", { ...screening, visited: [], finalists, windows: 0, lengthMs: 0 } as unknown as Json, []);
  addStep(evidence, journal.folder, entry);
}

/** The evidence of a finished run and its verdict. Throws RUN_UNREADABLE, RUN_MISMATCH. */
export function finishedRun(folder: string): { evidence: Evidence; verdict: Verdict } {
  const { evidence } = loadEvidence(folder);
  if (!evidence.ends.some(({ stage }) => stage === "all"))
    throw new AssayError("RUN_UNREADABLE", `${folder} is not finished; continue it with assay decide WORKLOAD --resume ${folder}`);
  return { evidence, verdict: decide(evidence, version) };
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

/** The command that asks the same question, for the report: names without folders. */
export const commandOf = (verb: string, path: string, options: Readonly<Record<string, string | undefined>>): string =>
  [
    `assay ${verb} ${basename(path)}`,
    ...Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name} ${/[^\w.,*·-]/.test(value) ? JSON.stringify(value) : value}`],
    ),
  ].join(" ");
