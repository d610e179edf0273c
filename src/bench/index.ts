export { pairAnswers, type Answers } from "./answers.ts";
export { createBuilder, type Builder, type SourceModel } from "./builds.ts";
export { capacityOf, type Capacity, type CapacityStep, type StepOutcome } from "./capacity.ts";
export * from "./evidence.ts";
export { runExperiment, type ExperimentOptions, type Judges, type Progress } from "./experiment.ts";
export { openFleet, type Contender, type Fleet } from "./fleet.ts";
export { emptyEvidence, addStep, loadEvidence, type AccuracyView, type Evidence, type VisitView } from "./view.ts";
export { ratioOverRounds, search, type Arm, type ArmVisit, type SearchResult, type SearchSpace, type Visited } from "./search.ts";
