export { compareVerdicts, type Comparison } from "./compare.ts";
export { decide, judges } from "./decide.ts";
export { requestsNeeded } from "./targets.ts";
export { verdictSchema, type CandidateVerdict, type Gate, type Verdict } from "./verdict.ts";
