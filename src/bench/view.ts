/**
 * A run as the verdict sees it: the journal's steps, and each visit reduced from its request records.
 * Everything here can be computed again from the files.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AssayError } from "../base/index.ts";
import { checkFiles, readJournal, type Entry } from "../evidence/index.ts";
import { loadContextSchema, readRecords, summarise, type RecordTable, type RunSummary } from "../load/index.ts";
import { readAnswers, type Answers } from "./answers.ts";
import {
  evidenceSchemas,
  scoresSchema,
  type AccuracyRecord,
  type BuildRecord,
  type EndRecord,
  type ProfileRecord,
  type RunRecord,
  type Scores,
  type ScreeningRecord,
  type VisitRecord,
} from "./evidence.ts";

export interface VisitView extends RunSummary {
  record: VisitRecord;
}

export interface AccuracyView {
  record: AccuracyRecord;
  scores: Scores;
  /** Null where the run kept none. */
  answers: Answers | null;
}

export interface Evidence {
  run: RunRecord;
  builds: BuildRecord[];
  screening: ScreeningRecord | null;
  accuracies: AccuracyView[];
  /** Where the search for each candidate's capacity started, requests per second. */
  probes: Map<string, number>;
  visits: VisitView[];
  profiles: ProfileRecord[];
  ends: EndRecord[];
}

/** A visit with the figures of its records. */
export const viewOf = (record: VisitRecord, table: RecordTable): VisitView => ({
  record,
  ...summarise(table, loadContextSchema.parse(record.context), { latencyLimitMs: record.latencyLimitMs }),
});

/** Adds one step of the journal to the evidence; the files it names are read from the folder unless handed in. */
export function addStep(evidence: Evidence, folder: string, { kind, body }: Pick<Entry, "kind" | "body">, table?: RecordTable): void {
  switch (kind) {
    case "build":
      evidence.builds.push(evidenceSchemas.build.parse(body));
      break;
    case "screening":
      evidence.screening = evidenceSchemas.screening.parse(body);
      break;
    case "accuracy": {
      const record = evidenceSchemas.accuracy.parse(body);
      evidence.accuracies.push({
        record,
        scores: scoresSchema.parse(JSON.parse(readFileSync(join(folder, record.scores), "utf8"))),
        answers: record.answers === null ? null : readAnswers(join(folder, record.answers)),
      });
      break;
    }
    case "probe": {
      const { id, ratePerSecond } = evidenceSchemas.probe.parse(body);
      evidence.probes.set(id, ratePerSecond);
      break;
    }
    case "visit": {
      const record = evidenceSchemas.visit.parse(body);
      evidence.visits.push(viewOf(record, table ?? readRecords(join(folder, record.records))));
      break;
    }
    case "profile":
      evidence.profiles.push(evidenceSchemas.profile.parse(body));
      break;
    case "end":
      evidence.ends.push(evidenceSchemas.end.parse(body));
      break;
    default: // A later version's steps say nothing to this one; verdicts are other rooms'.
  }
}

/** Evidence with the question only. */
export const emptyEvidence = (run: RunRecord): Evidence => ({
  run,
  builds: [],
  screening: null,
  accuracies: [],
  probes: new Map(),
  visits: [],
  profiles: [],
  ends: [],
});

/**
 * Reads a run's folder, chain and files checked. Throws RUN_UNREADABLE when it is none, RUN_MISMATCH
 * naming the file or line that was changed.
 */
export function loadEvidence(folder: string): { evidence: Evidence; entries: readonly Entry[] } {
  const { entries } = readJournal(folder);
  checkFiles(folder, entries);
  const [first, ...rest] = entries;
  const run = evidenceSchemas.run.safeParse(first?.body);
  if (first?.kind !== "run" || !run.success)
    throw new AssayError("RUN_UNREADABLE", `${folder}: its journal does not begin with the question of the run`);
  const evidence = emptyEvidence(run.data);
  for (const entry of rest) addStep(evidence, folder, entry);
  return { evidence, entries };
}
