export {
  defaultServing,
  defaultSession,
  routeName,
  type Candidate,
  type CandidateParts,
  type Route,
  type StaticRoute,
  type ServingSettings,
  type SessionSettings,
} from "./candidate.ts";
export { formatFaults, type Fault } from "./faults.ts";
export {
  candidatesOf,
  changesOf,
  familyOf,
  hostFault,
  isDefault,
  settingsChanged,
  threadsOf,
  type Funnel,
  type ModelFacts,
  type NameFilter,
} from "./funnel.ts";
export { latencyTargets, openConditionsOf, targetsInWords } from "./meaning.ts";
export { parseSpace, parseWorkload, type Parsed } from "./parse.ts";
export { workloadJsonSchema, workloadSchema, type Workload } from "./schema.ts";
