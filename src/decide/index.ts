export { verdictSchema, type CandidateVerdict, type Gate, type Verdict } from "./verdict.ts";
