export type { Arrival } from "./schedule.ts";
export { loadContextSchema, type LoadContext, type LoadPlan } from "./plan.ts";
export { readRecords, type OutcomeClass, type RecordTable } from "./records.ts";
export { runLoad, type KeptBody, type LoadRun } from "./run.ts";
export { summarise, type RunSummary, type StageTimes } from "./summary.ts";
export { decodeInfer, encodeInfer, type InferCall } from "./oip.ts";
