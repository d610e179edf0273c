/**
 * An artifact for a key: from the store where it is there, sound, and still runs; else built, checked
 * byte by byte, tried once, and only then published. Failures are never stored.
 */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { asAssayError, type Json } from "../base/index.ts";
import { digestFile, type Artifact, type ArtifactKeyFields, type Store } from "../artifact/index.ts";
import type { FailureClass } from "./protocol.ts";
import { runJob, type JobOptions, type Phase, type WorkerSpec } from "./supervisor.ts";

export interface ArtifactRequest {
  worker: WorkerSpec;
  fields: ArtifactKeyFields;
  /** The worker's own job to build into a folder. */
  build: (outFolder: string) => Json;
  /** The worker's own job to try the model file once. */
  smoke: (modelPath: string) => Json;
  /** What the manifest says about the artifact. */
  facts: Json;
  /** Builds anew even when the store has one. */
  fresh?: boolean;
}

export interface BuildResult {
  outcome: "built" | "cached" | "failed";
  artifact: Artifact | null;
  failure: { class: FailureClass; message: string } | null;
  lengthMs: number;
  phases: Phase[];
  /** Why it was not taken from the store, or what was set aside. */
  note: string | null;
}

/** Throws DISK_FULL when the store has no room, INTERRUPTED's cause when the signal fires. */
export async function obtainArtifact(store: Store, request: ArtifactRequest, options: JobOptions): Promise<BuildResult> {
  const began = performance.now();
  const since = (): number => performance.now() - began;
  const phases: Phase[] = [];
  const job = async (start: Json, name?: string) => {
    const from = since();
    const outcome = await runJob(request.worker, start, options);
    options.signal?.throwIfAborted();
    if (name === undefined) phases.push(...outcome.phases.map((phase) => ({ ...phase, startMs: phase.startMs + from })));
    else phases.push({ name, startMs: from, lengthMs: since() - from });
    return outcome;
  };
  const failed = (failure: FailureClass, message: string): BuildResult => ({
    outcome: "failed",
    artifact: null,
    failure: { class: failure, message },
    lengthMs: since(),
    phases,
    note,
  });

  let note: string | null = null;
  if (!request.fresh) {
    const found = await store.find(request.fields);
    if (found.kind === "hit") {
      const tried = await job(request.smoke(found.artifact.modelPath), "smoke run");
      if (tried.kind === "done")
        return { outcome: "cached", artifact: found.artifact, failure: null, lengthMs: since(), phases, note: null };
      // Only what was found wrong is set aside; a stall or a crash says nothing of the artifact.
      if (tried.kind !== "failed") return failed("worker_crash", "cancelled");
      if (tried.class !== "artifact_invalid" && tried.class !== "unsupported_op") return failed(tried.class, tried.message);
      note = (await store.setAside(found.artifact, tried.message)).message;
    } else note = found.kind === "miss" ? found.reason : found.fault.message;
  }
  const folder = store.workFolder();
  try {
    const built = await job(request.build(folder));
    if (built.kind === "cancelled") return failed("worker_crash", `cancelled (${built.phase})`);
    if (built.kind === "failed") return failed(built.class, built.message);
    const { artifact } = built;
    if (!artifact) return failed("artifact_invalid", "the worker ended without an artifact");
    const path = join(folder, artifact.entry);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size === 0 || size !== artifact.bytes)
      return failed("artifact_invalid", `${artifact.entry} has ${size} bytes; the worker announced ${artifact.bytes}`);
    if ((await digestFile(path)) !== artifact.sha256)
      return failed("artifact_invalid", `${artifact.entry} differs from what the worker announced`);
    const tried = await job(request.smoke(path), "smoke run");
    if (tried.kind === "failed") return failed(tried.class, tried.message);
    if (tried.kind === "cancelled") return failed("worker_crash", "cancelled");
    const published = await store.put(folder, request.fields, { kind: artifact.kind, entry: artifact.entry, facts: request.facts });
    return { outcome: "built", artifact: published, failure: null, lengthMs: since(), phases, note };
  } catch (fault) {
    options.signal?.throwIfAborted();
    throw asAssayError(fault);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
