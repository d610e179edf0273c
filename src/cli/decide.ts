/** `assay decide`: from workload files to verdicts and reports. */
import { basename, join, resolve } from "node:path";
import { AssayError } from "../base/index.ts";
import type { Verdict } from "../decide/index.ts";
import { renderTerminal } from "../report/index.ts";
import { conclude } from "./conclude.ts";
import { failKinds, statusOf, writeExchange, type ExchangeOptions } from "./exchange.ts";
import { readQuestion } from "./question.ts";
import { beginRun, commandOf, continueRun, reportName, shownPath, verdictText } from "./run-folder.ts";

export interface DecideOptions extends ExchangeOptions {
  out?: string;
  budget?: string;
  json?: boolean;
  resume?: string;
  allowOutside?: boolean;
  only?: string[];
  exclude?: string[];
  space?: string;
}

/** Prints a verdict for people. */
export function showVerdict(verdict: Verdict, folder: string): void {
  const colour = process.stdout.isTTY && !process.env["NO_COLOR"];
  const reportPath = shownPath(join(folder, reportName));
  process.stdout.write(renderTerminal(verdict, { colour, columns: process.stdout.columns ?? 100, reportPath }));
}

async function decideOne(path: string, options: DecideOptions): Promise<{ verdict: Verdict; folder: string }> {
  const { out, budget, resume, only, exclude, space } = options;
  const question = await readQuestion(path, { allowOutside: options.allowOutside === true, only, exclude, space });
  const command = commandOf("decide", path, {
    budget,
    only: only?.join(","),
    exclude: exclude?.join(","),
    space: space && basename(space),
  });
  const run = resume === undefined ? beginRun(path, question, { out, budget, command, space }) : continueRun(resume, question);
  return { verdict: await conclude(path, question, run, options.json === true), folder: run.journal.folder };
}

/** Decides one workload, or several one after another, which share what was built. Returns the exit status, the gravest of all. */
export async function runDecide(paths: readonly string[], options: DecideOptions): Promise<number> {
  const failOn = failKinds(options.failOn);
  const single = ["json", "resume", "markdown", "junit"].find((name) => options[name as keyof DecideOptions] !== undefined);
  if (paths.length > 1 && single) throw new AssayError("USAGE", `--${single} goes with one workload file; ${paths.length} are given`);
  const found: { verdict: Verdict; folder: string }[] = [];
  for (const [at, path] of paths.entries()) {
    if (paths.length > 1) process.stderr.write(`${at + 1} of ${paths.length}: ${path}\n`);
    const out = options.out === undefined || paths.length === 1 ? options.out : resolve(options.out, String(at + 1));
    const one = await decideOne(path, out === undefined ? options : { ...options, out });
    found.push(one);
    if (options.json) process.stdout.write(verdictText(one.verdict));
    else showVerdict(one.verdict, one.folder);
    writeExchange(one.verdict, options);
  }
  if (paths.length > 1) for (const { verdict } of found) process.stdout.write(`${verdict.workload.name}: ${verdict.answer.sentence}\n`);
  return Math.max(...found.map(({ verdict }) => statusOf(verdict, failOn)));
}
