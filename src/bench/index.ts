export { pairAnswers, type Answers } from "./answers.ts";
export { createBuilder, type Builder, type SourceModel } from "./builds.ts";
export { capacityOf, type Capacity, type CapacityStep, type StepOutcome } from "./capacity.ts";
export * from "./evidence.ts";
export { runExperiment, type ExperimentOptions, type Judges, type Progress } from "./experiment.ts";
export { openFleet, type Contender, type Fleet } from "./fleet.ts";
export { emptyEvidence, addStep, loadEvidence, type AccuracyView, type Evidence, type VisitView } from "./view.ts";
export { search, type ArmVisit, type SearchResult, type SearchSpace } from "./search.ts";
export { ratioOverRounds, type Arm, type Visited } from "./visits.ts";
export {
  endpointDocument,
  endpointKind,
  isEndpointRun,
  loadEndpointRun,
  measureEndpoint,
  placeOf,
  type EndpointQuestion,
  type EndpointRun,
} from "./endpoint.ts";
