/** From an open run to its verdict: measures what is missing, decides, publishes. Ctrl-C keeps what was measured. */
import { join } from "node:path";
import { openStore } from "../artifact/index.ts";
import { AssayError, digestBytes, figure } from "../base/index.ts";
import { createBuilder, openFleet, runExperiment } from "../bench/index.ts";
import { decide, judges, requestsNeeded, type Verdict } from "../decide/index.ts";
import { cacheFolder } from "../host/index.ts";
import { excludableDrop } from "../stats/index.ts";
import { latencyTargets, threadsOf } from "../workload/index.ts";
import { progressLine } from "./progress.ts";
import type { Question } from "./question.ts";
import { publish, shownPath, verdictText, type OpenRun } from "./run-folder.ts";
import { version } from "./version.ts";

const cacheLimitBytes = 2 * 2 ** 30;
const buildLimitMs = 10 * 60_000;
/** A request that takes this many times the slowest target, or this long, is given up. */
const timeoutTargets = 10;
const leastTimeoutMs = 2000;

/** Turns Ctrl-C and SIGTERM into one abort. */
function interruption(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals): void =>
    controller.abort(new AssayError("INTERRUPTED", `stopped by ${name}; what was measured is kept`));
  const names: NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
  for (const name of names) process.on(name, stop);
  return { signal: controller.signal, release: () => names.forEach((name) => process.off(name, stop)) };
}

/** Measures what the run still lacks. @param quiet whether progress is kept to terminals */
async function measure(question: Question, { journal, evidence }: OpenRun, quiet: boolean, signal: AbortSignal): Promise<void> {
  const { workload, models, dataset, funnel, machine } = question;
  const { traffic } = workload;
  const store = openStore(join(cacheFolder(), "artifacts"), { limitBytes: cacheLimitBytes });
  // In the store, which clears what killed processes leave.
  const workFolder = store.workFolder();
  const slowest = Math.max(0, ...latencyTargets(workload).map(([, ms]) => ms));
  const line = progressLine(process.stderr, quiet && !process.stderr.isTTY);
  const fleet = openFleet({
    dataset,
    arrival: typeof traffic.arrival === "string" ? { kind: traffic.arrival } : { kind: "gamma", cv: traffic.arrival.gamma.cv },
    itemsPerRequest: traffic.itemsPerRequest,
    cores: threadsOf(workload, machine.cores),
    timeoutMs: Math.max(leastTimeoutMs, timeoutTargets * slowest),
    signal,
  });
  try {
    await runExperiment({
      journal,
      evidence,
      candidates: funnel.candidates,
      models,
      outputsOf: (id) => dataset.outputsOf(id),
      builder: createBuilder({ models, dataset, store, machine, workFolder, maxDurationMs: buildLimitMs, signal }),
      fleet,
      judges,
      workFolder,
      budgetMs: evidence.run.budgetMs,
      ratePerSecond: traffic.ratePerSecond ?? null,
      requestsNeeded: requestsNeeded(workload),
      latencyLimitMs: latencyTargets(workload).at(-1)?.[1] ?? null,
      signal,
      onProgress: (progress) => line.show(progress),
    });
  } finally {
    line.end();
    await fleet.close();
    store.discard(workFolder);
    store.close();
  }
}

/** Says beforehand that no candidate but the baseline can pass the accuracy gate. */
function warnOfAccuracy({ workload, dataset }: Question): void {
  const maxDrop = workload.accuracy?.maxDrop;
  const items = dataset.splits.holdout.length;
  if (maxDrop === undefined || !dataset.metric.binary || excludableDrop(items) <= maxDrop) return;
  process.stderr.write(
    `Note: ${items} holdout items cannot exclude a drop of ${maxDrop}, at best one of ${figure(excludableDrop(items))}: no candidate but the baseline can pass. Give more items, or allow a larger accuracy.maxDrop.\n`,
  );
}

/** @param path the workload file, for the sentence that says how to go on */
export async function conclude(path: string, question: Question, run: OpenRun, quiet: boolean): Promise<Verdict> {
  const { journal, evidence } = run;
  const { folder } = journal;
  const { signal, release } = interruption();
  try {
    if (!quiet)
      process.stderr.write(
        `Run folder: ${shownPath(folder)} · ${evidence.run.candidates.length} candidates · budget ${evidence.run.budgetMs / 1000} s\n`,
      );
    if (!quiet) warnOfAccuracy(question);
    if (!evidence.ends.some(({ stage }) => stage === "all")) await measure(question, run, quiet, signal);
    const verdict = decide(evidence, version);
    publish(folder, verdict);
    journal.append("verdict", { digest: digestBytes(verdictText(verdict)), decidedBy: version });
    return verdict;
  } catch (fault) {
    if (signal.aborted) process.stderr.write(`Continue with: assay decide ${path} --resume ${shownPath(folder)}\n`);
    throw fault;
  } finally {
    journal.close();
    release();
  }
}
