export { capacityOf, nextRate, type Capacity, type CapacityStep, type StepOutcome } from "./capacity.ts";
export * from "./evidence.ts";
export type { AccuracyView, Evidence, StageTimes, VisitView } from "./view.ts";
export { ratioOverRounds, search, type Arm, type ArmVisit, type SearchResult, type SearchSpace, type Visited } from "./search.ts";
