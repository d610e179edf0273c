export type { Arrival } from "./schedule.ts";
export { loadContextSchema, type LoadContext, type LoadPlan } from "./plan.ts";
export { hasTokens, readRecords, type OutcomeClass, type RecordTable } from "./records.ts";
export { runLoad, type KeptBody, type LoadRun } from "./run.ts";
export { summarise, sustainedDrift, type RunSummary, type StageTimes } from "./summary.ts";
export { decodeInfer, encodeInfer, type InferCall } from "./oip/infer.ts";
export { tokenMetrics, tokenTags } from "./metrics/index.ts";
export { summariseTokens, type MetricSummary, type TokenSummary } from "./tokens.ts";
export { drawPrompt, encodeCompletion, type ApiPlace } from "./openai/request.ts";
