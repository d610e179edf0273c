export { obtainArtifact, type ArtifactRequest, type BuildResult } from "./obtain.ts";
export type { FailureClass, WorkerEvent } from "./protocol.ts";
export { openScreen, type Screen, type ScreenArm } from "./screen.ts";
export { runJob, startJob, type Job, type JobOptions, type JobOutcome, type Phase, type WorkerSpec } from "./supervisor.ts";
