/**
 * What a run leaves in its journal: one schema a step. The verdict is a function of these and of the
 * request records they name, and of nothing else.
 */
import { z } from "zod";

const ms = z.number().describe("milliseconds");
const candidateId = z.string().describe("SHA-256 of the candidate");

const settings = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

export const candidateRecordSchema = z.object({
  id: candidateId,
  name: z.string(),
  model: z.string(),
  modelDigest: z.string(),
  route: z.string().describe("how the artifact is made, in words"),
  routeKey: z.string().describe("canonical JSON of the route"),
  role: z.enum(["baseline", "source-model", "challenger"]),
  family: z.string().describe("candidates of one family differ in settings only"),
  byDefault: z.boolean().describe("whether the settings are the family's defaults"),
  changes: z.number().int().describe("fields that differ from the baseline"),
  settings,
});
export type CandidateRecord = z.infer<typeof candidateRecordSchema>;

export const runRecordSchema = z
  .object({
    version: z.string(),
    rootSeed: z.string(),
    budgetMs: ms,
    command: z.string(),
    workloadFile: z.string().nullable().default(null).describe("the workload file, from the run's folder"),
    spaceFile: z.string().nullable().default(null).describe("the file of --space, from the run's folder"),
    workloadDigest: z.string(),
    workload: z.unknown().describe("the parsed workload"),
    machine: settings,
    versions: z.record(z.string(), z.string()),
    digests: z.record(z.string(), z.string()),
    splits: z.object({ calibration: z.number().int(), tuning: z.number().int(), holdout: z.number().int() }),
    metric: z.object({
      name: z.string(),
      betterIs: z.enum(["higher", "lower"]),
      binary: z.boolean(),
      blind: z.number().optional().describe("value of the best answer that is the same for every item"),
    }),
    candidates: z.array(candidateRecordSchema).describe("baseline first"),
    enumerated: z.number().int(),
    excluded: z.array(
      z.object({
        stage: z.enum(["residency", "licence", "compatibility", "fit", "estimate", "asked"]),
        name: z.string(),
        reason: z.string(),
      }),
    ),
    statedNotUsed: z.array(z.object({ path: z.string(), why: z.string() })),
    openConditions: z.array(z.string()),
  })
  .describe("the question, as it was put");
export type RunRecord = z.infer<typeof runRecordSchema>;

export const buildRecordSchema = z.object({
  family: z.string(),
  model: z.string(),
  route: z.string(),
  outcome: z.enum(["built", "cached", "failed", "skipped"]).describe("skipped = there was no time for it"),
  failure: z.string().nullable().describe("failure class and message"),
  startMs: ms,
  lengthMs: ms,
  phases: z.array(z.object({ name: z.string(), startMs: ms, lengthMs: ms })),
  digest: z.string().nullable().describe("SHA-256 of the artifact's content"),
  bytes: z.number().int().nullable(),
  purpose: z.enum(["first", "confirm"]),
});
export type BuildRecord = z.infer<typeof buildRecordSchema>;

export const screeningRecordSchema = z
  .object({
    visited: z.array(
      z.object({
        id: candidateId,
        visits: z.array(
          z.object({
            round: z.number().int(),
            share: z.number(),
            value: z.number().nullable().describe("wall milliseconds per item, in process"),
          }),
        ),
        stopped: z.string().nullable(),
      }),
    ),
    finalists: z.array(candidateId).describe("who is measured end to end, baseline first"),
    windowMs: ms,
    windows: z.number().describe("full windows spent"),
    lengthMs: ms.default(0).describe("how long it took, milliseconds"),
  })
  .describe("the search in process, whole");
export type ScreeningRecord = z.infer<typeof screeningRecordSchema>;

export const accuracyRecordSchema = z
  .object({
    id: candidateId,
    purpose: z.enum(["first", "confirm"]),
    look: z.number().int().describe("0, 1, …: the baseline is scored more than once for its noise floor"),
    artifactDigest: z.string(),
    batches: z.array(z.tuple([z.number().int(), z.number().int()])),
    faults: z
      .array(z.object({ item: z.number().int(), reason: z.string() }))
      .describe("items without a usable answer; any of them fails the gate"),
    scores: z.string().describe("file of scores, one a holdout item"),
    lengthMs: ms.default(0).describe("how long it took, milliseconds"),
    answers: z.string().nullable().default(null).describe("file of the scored output's numbers; null = texts, or not kept by that version"),
  })
  .describe("the holdout through the served path");
export type AccuracyRecord = z.infer<typeof accuracyRecordSchema>;

/** One file of scores: item, value and prediction, in the order of the holdout. */
export const scoresSchema = z.object({
  items: z.array(z.number().int()),
  values: z.array(z.number().nullable()),
  predictions: z.array(z.union([z.string(), z.number(), z.null()])),
});
export type Scores = z.infer<typeof scoresSchema>;

export const visitRecordSchema = z
  .object({
    id: candidateId,
    purpose: z.enum(["rate", "capacity", "confirm"]),
    block: z.number().int().describe("visits of one block were measured side by side"),
    ratePerSecond: z.number(),
    seed: z.string(),
    latencyLimitMs: ms.nullable(),
    artifactDigest: z.string(),
    records: z.string().describe("Arrow file of the requests"),
    context: z
      .record(z.string(), z.unknown())
      .describe("what the records cannot hold: lag, stalls, garbage collection, in-flight samples, steal"),
    cpuSeconds: z.number().nullable().describe("CPU time of the server's processes during the visit"),
    wallSeconds: z.number(),
    peakBytes: z.number().nullable(),
    warmUpMs: ms.describe("the same load before the window, milliseconds"),
  })
  .describe("one end-to-end visit");
export type VisitRecord = z.infer<typeof visitRecordSchema>;

export const probeRecordSchema = z
  .object({
    id: candidateId,
    ratePerSecond: z.number().describe("throughput of a short closed loop: where the search for the capacity starts"),
  })
  .describe("first guess of the capacity");

export const profileRecordSchema = z
  .object({
    id: candidateId,
    artifactDigest: z.string(),
    runs: z.number().int(),
    runUs: z.number().describe("microseconds of one run as the caller sees it, the profiler's cost included"),
    operators: z.array(
      z.object({
        op: z.string(),
        nodes: z.number().int().describe("nodes of it in the graph as the runtime optimised it"),
        us: z.number().describe("microseconds of one run, mean"),
      }),
    ),
  })
  .describe("where the time of a run goes inside the model");
export type ProfileRecord = z.infer<typeof profileRecordSchema>;

export const endRecordSchema = z.object({
  stage: z.enum(["rates", "capacity", "confirm", "all"]),
  reason: z.enum(["complete", "budget", "decided"]),
  spentMs: ms,
});
export type EndRecord = z.infer<typeof endRecordSchema>;

/** Kind of a journal entry → the schema of its body. */
export const evidenceSchemas = {
  run: runRecordSchema,
  build: buildRecordSchema,
  screening: screeningRecordSchema,
  accuracy: accuracyRecordSchema,
  probe: probeRecordSchema,
  visit: visitRecordSchema,
  profile: profileRecordSchema,
  end: endRecordSchema,
} as const;
