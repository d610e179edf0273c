export { verdictSchema, type CandidateVerdict, type Gate, type Verdict } from "./verdict.ts";
export { judgeAccuracy, noiseFloor, type AccuracyTargets } from "./accuracy.ts";
export * from "./targets.ts";
