/** What a model does with its time, asked of the worker after the measurements: they are over, so the profiler disturbs none. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onnxruntimeWorker, profileJob, rowsOf } from "../build/onnxruntime/index.ts";
import { runJob, type WorkerEvent } from "../build/index.ts";
import type { ProfileRecord } from "./evidence.ts";
import type { Contender } from "./fleet.ts";

const windowMs = 400;
const mostMs = 60_000;

export interface ProfileOptions {
  /** Tensor file of items to run. */
  inputsFile: string;
  outputs: readonly string[];
  /** Folder for the runtime's own file. */
  workFolder: string;
  signal: AbortSignal;
}

/** The profile of a contender; null when the worker could not make one. */
export async function profileContender(
  { candidate, header, artifact }: Contender,
  { inputsFile, outputs, workFolder, signal }: ProfileOptions,
): Promise<ProfileRecord | null> {
  const folder = join(workFolder, `profile-${candidate.id}`);
  mkdirSync(folder, { recursive: true });
  const operators: ProfileRecord["operators"] = [];
  let total = { runs: 0, runUs: 0 };
  const onEvent = (event: WorkerEvent): void => {
    if (event.type !== "metric" || event.value === null) return;
    if (event.name === "run") total = { runs: event.n, runUs: event.value };
    else operators.push({ op: event.name, nodes: event.n, us: event.value });
  };
  const job = profileJob({
    modelPath: artifact.modelPath,
    session: candidate.session,
    inputsFile,
    rows: rowsOf(header),
    outputs,
    folder,
    windowMs,
  });
  const outcome = await runJob(onnxruntimeWorker, job, { maxDurationMs: mostMs, signal, onEvent });
  signal.throwIfAborted();
  return outcome.kind === "done" && total.runs > 0 ? { id: candidate.id, artifactDigest: artifact.digest, ...total, operators } : null;
}
