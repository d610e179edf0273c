export { decide, judges } from "./decide.ts";
export { requestsNeeded } from "./targets.ts";
export { verdictSchema, type CandidateVerdict, type Gate, type Verdict } from "./verdict.ts";
