/** `assay replay`: measures the finalists of a finished run again, under fresh seeds, and says whether it agrees. */
import { resolve } from "node:path";
import { AssayError } from "../base/index.ts";
import { conclude } from "./conclude.ts";
import { showVerdict } from "./decide.ts";
import { readQuestion } from "./question.ts";
import { beginRun, commandOf, finishedRun, repeatFinalists } from "./run-folder.ts";
import { showComparison } from "./run.ts";

export interface ReplayOptions {
  workload?: string;
  out?: string;
  budget?: string;
  json?: boolean;
  allowOutside?: boolean;
}

/** Returns 0 when the new run agrees with the old one, else 3. */
export async function runReplay(path: string, { workload, out, budget, json, allowOutside }: ReplayOptions): Promise<number> {
  const folder = resolve(path);
  const original = finishedRun(folder);
  const { workloadFile, spaceFile, budgetMs } = original.evidence.run;
  const file = workload ?? (workloadFile === null ? null : resolve(folder, workloadFile));
  if (file === null) throw new AssayError("USAGE", `${path} does not say where its workload file is; name it with --workload FILE`);
  const space = spaceFile === null ? null : resolve(folder, spaceFile);
  const question = await readQuestion(file, { allowOutside: allowOutside === true, space });
  const run = beginRun(file, question, { out, budget: budget ?? `${budgetMs}ms`, command: commandOf("replay", path, { budget }), space });
  try {
    repeatFinalists(run, path, original.evidence);
  } catch (fault) {
    run.journal.close();
    throw fault;
  }
  const verdict = await conclude(file, question, run, json === true);
  if (!json) showVerdict(verdict, run.journal.folder);
  return showComparison(original.verdict, verdict, json === true);
}
