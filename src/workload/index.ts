export {
  candidateOf,
  defaultServing,
  defaultSession,
  routeName,
  type Candidate,
  type CandidateParts,
  type Route,
  type ServingSettings,
  type SessionSettings,
} from "./candidate.ts";
