/** The question of a run: workload file, models, data and candidates, read and checked before anything is measured. */
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { readModelHeader } from "../artifact/index.ts";
import { AssayError, digestJson, type Json } from "../base/index.ts";
import { isBatchable, onnxruntimeStack, routesOf } from "../build/onnxruntime/index.ts";
import type { CandidateRecord, RunRecord, SourceModel } from "../bench/index.ts";
import { insideFolder, loadDataset, type Dataset } from "../data/index.ts";
import { describeMachine, type Machine } from "../host/index.ts";
import {
  candidatesOf,
  changesOf,
  familyOf,
  formatFaults,
  parseSpace,
  hostFault,
  isDefault,
  openConditionsOf,
  parseWorkload,
  routeName,
  type Candidate,
  type Fault,
  type Funnel,
  type NameFilter,
  type Workload,
} from "../workload/index.ts";
import { version } from "./version.ts";

export interface Question {
  workload: Workload;
  models: SourceModel[];
  dataset: Dataset;
  funnel: Funnel;
  machine: Machine;
  notUsed: { path: string; why: string }[];
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new AssayError("WORKLOAD_UNREADABLE", `${path} cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown fault"})`, {
      cause,
    });
  }
}

const invalid = (path: string, faults: readonly Fault[]): AssayError =>
  new AssayError("WORKLOAD_INVALID", formatFaults(faults, basename(path)), { details: { faults } });

export interface QuestionOptions extends NameFilter {
  allowOutside: boolean;
  /** File with a space of candidates that takes the place of the workload's own. */
  space?: string | null | undefined;
}

/** Throws WORKLOAD_UNREADABLE, WORKLOAD_INVALID with every fault, HOST_UNFIT, and what models and data throw. */
export async function readQuestion(path: string, { allowOutside, only, exclude, space }: QuestionOptions): Promise<Question> {
  const { workload: stated, faults, notUsed } = parseWorkload(readText(path));
  if (!stated) throw invalid(path, faults);
  const own = space == null ? null : parseSpace(readText(space));
  if (own && !own.space) throw invalid(space!, own.faults);
  const workload = own ? { ...stated, search: own.space! } : stated;
  const machine = describeMachine();
  const unfit = hostFault(workload, machine.cores);
  if (unfit !== null) throw new AssayError("HOST_UNFIT", unfit);
  const folder = dirname(resolve(path));
  const models: SourceModel[] = [];
  for (const { id, path: model } of workload.models) {
    const whole = insideFolder(folder, model, allowOutside);
    models.push({ id, path: whole, header: await readModelHeader(whole) });
  }
  const dataset = await loadDataset(workload, folder, models, { allowOutside });
  const funnel = candidatesOf(workload, {
    models: models.map(({ id, header }) => ({ id, digest: header.digest, batchable: isBatchable(header), routes: routesOf(header) })),
    cores: machine.cores,
    runtime: onnxruntimeStack(),
    only,
    exclude,
  });
  const { itemsPerRequest } = workload.traffic;
  const fixed = models.find(({ header }) => !isBatchable(header));
  if (itemsPerRequest > 1 && fixed)
    throw new AssayError("DATA_MISFIT", `traffic.itemsPerRequest is ${itemsPerRequest}; model ${fixed.id} takes one item a request`);
  return { workload, models, dataset, funnel, machine, notUsed };
}

const recordOf = (candidate: Candidate, { baseline, candidates }: Funnel): CandidateRecord => ({
  id: candidate.id,
  name: candidate.name,
  model: candidate.model,
  modelDigest: candidate.modelDigest,
  route: routeName(candidate.route),
  routeKey: JSON.stringify(candidate.route),
  role:
    candidate === baseline || candidate.id === baseline.id
      ? "baseline"
      : candidate.route.precision === "fp32" && isDefault(candidate, candidates[0]!)
        ? "source-model"
        : "challenger",
  family: familyOf(candidate),
  byDefault: isDefault(candidate, baseline),
  changes: changesOf(candidate, baseline),
  settings: { ...candidate.session, ...candidate.serving },
});

/** The question as the journal keeps it. */
export function runRecordOf(
  question: Question,
  {
    rootSeed,
    budgetMs,
    command,
    workloadFile,
    spaceFile,
  }: Pick<RunRecord, "rootSeed" | "budgetMs" | "command" | "workloadFile" | "spaceFile">,
): RunRecord {
  const { workload, models, dataset, funnel, machine, notUsed } = question;
  const runtime = onnxruntimeStack();
  return {
    version,
    rootSeed,
    budgetMs,
    command,
    workloadFile,
    spaceFile,
    workloadDigest: digestJson(workload as unknown as Json),
    workload,
    machine: { ...machine, isa: machine.isa.join(" ") },
    versions: { assay: version, node: machine.node, [runtime.name]: runtime.version },
    digests: { data: dataset.digest, ...Object.fromEntries(models.map(({ id, header }) => [`model ${id}`, header.digest])) },
    splits: {
      calibration: dataset.splits.calibration.length,
      tuning: dataset.splits.tuning.length,
      holdout: dataset.splits.holdout.length,
    },
    metric: dataset.metric,
    candidates: funnel.candidates.map((candidate) => recordOf(candidate, funnel)),
    enumerated: funnel.enumerated,
    excluded: funnel.excluded,
    statedNotUsed: notUsed,
    openConditions: openConditionsOf(workload),
  };
}
