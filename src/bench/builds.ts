/** Builds of a run: one artifact a family, and the tensor files that builds, smoke runs and screening read. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeGroups, type Artifact, type ModelHeader, type Store } from "../artifact/index.ts";
import { digestJson } from "../base/index.ts";
import { artifactRequest } from "../build/onnxruntime/index.ts";
import { obtainArtifact, type BuildResult, type WorkerEvent } from "../build/index.ts";
import type { Dataset } from "../data/index.ts";
import type { Machine } from "../host/index.ts";
import { familyOf, routeName, type Candidate } from "../workload/index.ts";
import type { BuildRecord } from "./evidence.ts";

export interface SourceModel {
  id: string;
  path: string;
  header: ModelHeader;
}

export interface BuilderOptions {
  models: readonly SourceModel[];
  dataset: Dataset;
  store: Store;
  machine: Machine;
  /** Folder for tensor files; not part of the evidence. */
  workFolder: string;
  maxDurationMs: number;
  signal: AbortSignal;
}

export interface Builder {
  /** Items of the tuning split, for screening. */
  tuningFile(modelId: string): string;
  /** The record of a build that there was no time for. */
  skip(candidate: Candidate, startMs: number): BuildRecord;
  build(
    candidate: Candidate,
    options: { fresh: boolean; startMs: number; onEvent?: (event: WorkerEvent) => void },
  ): Promise<{ record: BuildRecord; artifact: Artifact | null }>;
}

/** Items of the tuning split that screening and smoke runs use. */
const mostTuning = 256;

export function createBuilder({ models, dataset, store, machine, workFolder, maxDurationMs, signal }: BuilderOptions): Builder {
  mkdirSync(workFolder, { recursive: true });
  const files = new Map(
    models.map(({ id }) => {
      const { calibration, tuning, holdout } = dataset.splits;
      // Without a split of its own the search warms on calibration items; the holdout stays unseen where there is any other.
      const seen = tuning.length > 0 ? tuning : calibration.length > 0 ? calibration : holdout;
      const paths = { calibration: join(workFolder, `${id}.calibration`), tuning: join(workFolder, `${id}.tuning`) };
      const write = (path: string, items: readonly number[]): void =>
        writeGroups(
          path,
          dataset.groups(id, items).map((group) => dataset.stack(id, group)),
        );
      write(paths.tuning, seen.slice(0, mostTuning));
      if (calibration.length > 0) write(paths.calibration, calibration);
      return [id, paths] as const;
    }),
  );
  const calibrationDigest = digestJson({ data: dataset.digest, items: dataset.splits.calibration as number[] });
  return {
    tuningFile: (modelId) => files.get(modelId)!.tuning,
    skip: (candidate, startMs) => ({
      family: familyOf(candidate),
      model: candidate.model,
      route: routeName(candidate.route),
      outcome: "skipped",
      failure: "the budget was too short to build everything; raise it, or narrow the space",
      startMs,
      lengthMs: 0,
      phases: [],
      digest: null,
      bytes: null,
      purpose: "first",
    }),
    async build(candidate, { fresh, startMs, onEvent }) {
      const model = models.find(({ id }) => id === candidate.model)!;
      const paths = files.get(candidate.model)!;
      const { route } = candidate;
      let result: BuildResult;
      if (route.precision === "int8-static" && dataset.splits.calibration.length === 0) {
        const failure = { class: "bad_profile" as const, message: "data.split has no calibration items" };
        result = { outcome: "failed", artifact: null, failure, lengthMs: 0, phases: [], note: null };
      } else {
        const request = artifactRequest({
          header: model.header,
          modelPath: model.path,
          route,
          machine,
          calibration: { digest: calibrationDigest, file: paths.calibration },
          smokeFile: paths.tuning,
          outputs: dataset.outputsOf(candidate.model),
        });
        result = await obtainArtifact(store, { ...request, fresh }, { maxDurationMs, signal, onEvent });
      }
      const { outcome, artifact, failure, lengthMs, phases } = result;
      return {
        artifact,
        record: {
          family: familyOf(candidate),
          model: candidate.model,
          route: routeName(route),
          outcome,
          failure: failure && `${failure.class}: ${failure.message}`,
          startMs,
          lengthMs,
          phases,
          digest: artifact?.digest ?? null,
          bytes: artifact?.bytes ?? null,
          purpose: fresh ? "confirm" : "first",
        },
      };
    },
  };
}
