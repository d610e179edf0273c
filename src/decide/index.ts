export { decide, judges } from "./decide.ts";
export { verdictSchema, type CandidateVerdict, type Gate, type Verdict } from "./verdict.ts";
