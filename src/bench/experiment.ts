/**
 * The run behind a verdict, step by step, each in the journal before the next: builds, screening in
 * process, accuracy on the holdout, paired blocks at the stated rate, capacities, and the confirmation
 * of the winner on a fresh build and fresh seeds, whose time is reserved first. What the journal has
 * already is not done again.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AssayError, digestJson, randomStream, shortDigest, type Json } from "../base/index.ts";
import { openScreen } from "../build/index.ts";
import { onnxruntimeWorker, rowsOf, screenJob } from "../build/onnxruntime/index.ts";
import type { Artifact } from "../artifact/index.ts";
import type { Journal } from "../evidence/index.ts";
import { writeWhole } from "../host/index.ts";
import { familyOf, isDefault, settingsChanged, type Candidate } from "../workload/index.ts";
import type { Builder } from "./builds.ts";
import { capacityOf, nextRate, type CapacityStep, type StepOutcome } from "./capacity.ts";
import { writeAnswers } from "./answers.ts";
import type { AccuracyRecord, EndRecord, ScreeningRecord, VisitRecord } from "./evidence.ts";
import type { Contender, Fleet } from "./fleet.ts";
import { profileContender } from "./profile.ts";
import { search } from "./search.ts";
import { addStep, type Evidence, type VisitView } from "./view.ts";
import type { SourceModel } from "./builds.ts";
import type { Arm } from "./visits.ts";

/** What the gates say in between; the run itself judges nothing. */
export interface Judges {
  step: (evidence: Evidence, view: VisitView) => StepOutcome;
  /** The accuracy gate, on the looks that there are. */
  accuracy: (evidence: Evidence, id: string) => { result: "pass" | "fail" | "cannot-tell" | "not-asked"; reasons: string[] };
  /** Whether the visits at the rate say that a candidate meets the targets, or that it does not. */
  settled: (evidence: Evidence, id: string) => boolean;
  /** Who would win now, if it is not the baseline. */
  leader: (evidence: Evidence) => string | null;
}

export interface Progress {
  stage: "builds" | "screening" | "accuracy" | "latency" | "capacity" | "confirmation" | "profile";
  /** 0–1 within the stage; null = not known. */
  ratio: number | null;
  text: string;
}

export interface ExperimentOptions {
  journal: Journal;
  evidence: Evidence;
  candidates: readonly Candidate[];
  models: readonly SourceModel[];
  outputsOf(modelId: string): string[];
  builder: Builder;
  fleet: Fleet;
  judges: Judges;
  /** Folder for files that are no evidence. */
  workFolder: string;
  budgetMs: number;
  ratePerSecond: number | null;
  latencyLimitMs: number | null;
  /** Requests that can certify every target. */
  requestsNeeded: number;
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
}

const screenWindowMs = 120;
/** Shares of the budget at whose ends stages stop, and what is kept for the confirmation. */
const buildsUntil = 0.35;
const screeningUntil = 0.28;
/** What screening has at least, when builds took long. */
const leastScreening = 0.12;
const accuracyUntil = 0.65;
const ratesUntil = 0.58;
const confirmShare = 0.12;
/** Finalists measured end to end, baseline and source models included. */
const mostFinalists = 4;
const leastBlocks = 5;
const mostBlocks = 40;
const confirmBlocks = 3;
const stepMs = 1200;
const warmUpMs = 250;
const mostWindowMs = 20_000;

/** Runs what is missing. Returns when a verdict can be made of the evidence; throws INTERRUPTED's cause when the signal fires. */
export async function runExperiment(options: ExperimentOptions): Promise<void> {
  const { journal, evidence, candidates, models, builder, fleet, judges, budgetMs, signal, onProgress } = options;
  const { folder } = journal;
  const baseline = candidates[0]!;
  const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
  const took = (steps: readonly { lengthMs: number }[]): number => steps.reduce((sum, { lengthMs }) => sum + lengthMs, 0);
  const before =
    took(evidence.builds) +
    took(evidence.screening ? [evidence.screening] : []) +
    took(evidence.accuracies.map(({ record }) => record)) +
    evidence.visits.reduce((sum, { record }) => sum + record.wallSeconds * 1000, 0);
  const began = performance.now() - before;
  const spent = (): number => performance.now() - began;
  const seedOf = (...name: (string | number)[]): string => shortDigest(digestJson([evidence.run.rootSeed, ...name]));
  const append = (kind: string, body: unknown, files: readonly string[] = [], table?: Parameters<typeof addStep>[3]): void => {
    const entry = journal.append(kind, body as Json, files);
    addStep(evidence, folder, entry, table);
  };
  const end = (stage: EndRecord["stage"], reason: EndRecord["reason"]): void => {
    if (!evidence.ends.some((known) => known.stage === stage)) append("end", { stage, reason, spentMs: spent() });
  };
  mkdirSync(join(folder, "records"), { recursive: true });
  mkdirSync(join(folder, "scores"), { recursive: true });

  const isSource = (one: Candidate): boolean => one.route.precision === "fp32" && isDefault(one, baseline);
  // Builds: one artifact a family, source models first.
  const artifacts = new Map<string, Artifact>();
  const families = new Map(candidates.map((candidate) => [familyOf(candidate), candidate]));
  let built = 0;
  for (const [family, candidate] of families) {
    signal.throwIfAborted();
    onProgress({ stage: "builds", ratio: built++ / families.size, text: `${candidate.model} · ${family.split(" ").slice(1).join(" ")}` });
    const known = evidence.builds.find((one) => one.family === family && one.purpose === "first");
    if (known?.outcome === "failed" || known?.outcome === "skipped") continue;
    if (!known && built > candidates.filter(isSource).length && spent() > buildsUntil * budgetMs) {
      append("build", builder.skip(candidate, spent()));
      continue;
    }
    const { record, artifact } = await builder.build(candidate, { fresh: false, startMs: spent() });
    if (known && known.digest !== record.digest) {
      throw new AssayError(
        "RUN_DIFFERS",
        `the artifact of ${candidate.model} · ${record.route} was measured as ${shortDigest(known.digest ?? "")} and is ${record.digest ? shortDigest(record.digest) : "not to be had"} now`,
      );
    }
    if (!known) append("build", record);
    if (artifact) artifacts.set(family, artifact);
  }
  if (!artifacts.has(familyOf(baseline))) {
    const failure = evidence.builds.find(({ family }) => family === familyOf(baseline))?.failure;
    throw new AssayError(
      failure?.startsWith("unsupported_op") ? "MODEL_UNSUPPORTED" : "BUILD_FAILED",
      `the baseline ${baseline.name} cannot be used: ${failure ?? "unknown"}`,
    );
  }

  const contenderOf = (candidate: Candidate, artifact = artifacts.get(familyOf(candidate))!): Contender => ({
    candidate,
    header: models.find(({ id }) => id === candidate.model)!.header,
    artifact,
  });

  let lastLookMs = 0;
  const look = async (contender: Contender, purpose: AccuracyRecord["purpose"], number: number): Promise<void> => {
    const { candidate, artifact } = contender;
    onProgress({ stage: "accuracy", ratio: null, text: candidate.name });
    const started = performance.now();
    const { scores, faults, batches, answers } = await fleet.holdout(contender, number);
    const stem = `scores/${shortDigest(candidate.id)}-${purpose}-${number}`;
    const path = `${stem}.json`;
    writeWhole(join(folder, path), JSON.stringify(scores));
    const answersPath = answers && `${stem}.answers`;
    if (answersPath) writeAnswers(join(folder, answersPath), answers);
    const record: AccuracyRecord = {
      id: candidate.id,
      purpose,
      look: number,
      artifactDigest: artifact.digest,
      batches,
      faults,
      scores: path,
      lengthMs: performance.now() - started,
      answers: answersPath,
    };
    lastLookMs = record.lengthMs;
    append("accuracy", record, [path, ...(answersPath ? [answersPath] : [])]);
  };
  const looksAt = ({ id }: Candidate, purpose: AccuracyRecord["purpose"]): number =>
    evidence.accuracies.filter(({ record }) => record.id === id && record.purpose === purpose).length;
  /** Accuracy on the holdout; the baseline twice, in different company, for its noise floor. What there is no time for stays open. */
  const lookFirst = async (candidate: Candidate): Promise<void> => {
    const wanted = candidate === baseline ? 2 : 1;
    if (!artifacts.has(familyOf(candidate)) || (candidate !== baseline && spent() + lastLookMs > accuracyUntil * budgetMs)) return;
    while (looksAt(candidate, "first") < wanted) await look(contenderOf(candidate), "first", looksAt(candidate, "first"));
  };

  // Screening: sessions only; what the server does with requests shows end to end only.
  if (!evidence.screening) append("screening", await screenAll());
  const finalists = evidence.screening!.finalists.map((id) => byId.get(id)!);

  async function screenAll(): Promise<ScreeningRecord> {
    const plain = candidates.filter(
      (one) => artifacts.has(familyOf(one)) && JSON.stringify(one.serving) === JSON.stringify(baseline.serving),
    );
    const arms = plain.map((one) => ({
      id: one.id,
      modelPath: artifacts.get(familyOf(one))!.modelPath,
      bytes: artifacts.get(familyOf(one))!.bytes,
      session: one.session,
      inputsFile: builder.tuningFile(one.model),
      outputs: options.outputsOf(one.model),
      rows: rowsOf(models.find(({ id }) => id === one.model)!.header),
    }));
    const screen = openScreen(onnxruntimeWorker, screenJob(arms), { maxDurationMs: budgetMs, signal });
    let lookedMs = 0;
    const deadline = Math.max(screeningUntil * budgetMs, spent() + leastScreening * budgetMs);
    // A family whose accuracy fails would only keep those that may win from being measured.
    const admit = async ({ id }: Arm): Promise<string | null> => {
      if (judges.accuracy(evidence, id).result === "not-asked") return null;
      const began = spent();
      const { model } = byId.get(id)!;
      for (const one of [baseline, ...candidates.filter((other) => other.model === model && isSource(other)), byId.get(id)!])
        await lookFirst(one);
      lookedMs += spent() - began;
      const { result, reasons } = judges.accuracy(evidence, id);
      return result === "fail" ? `its accuracy fails: ${reasons.join("; ")}` : null;
    };
    const started = performance.now();
    let visits = 0;
    // How long a full window really takes, once a few have told: large models and new sessions take longer.
    let [windows, visitsMs] = [0, 0];
    const windowMs = (): number => (windows < 5 ? 1.4 * screenWindowMs : visitsMs / windows);
    try {
      const result = await search({
        arms: plain.map((one) => ({ id: one.id, family: familyOf(one), settings: settingsChanged(one, baseline) })),
        baseline: baseline.id,
        stream: randomStream(evidence.run.rootSeed, "visit-order"),
        keep: 2,
        admit,
        windowsLeft: () =>
          Math.max(0, (Math.min(deadline + lookedMs, accuracyUntil * budgetMs - mostFinalists * lastLookMs) - spent()) / windowMs()),
        visit: async (arm, share, cutOff) => {
          onProgress({ stage: "screening", ratio: Math.min(1, spent() / deadline), text: `visit ${++visits} · ${byId.get(arm.id)!.name}` });
          const from = performance.now();
          const found = await screen.visit(arm.id, share * screenWindowMs, cutOff);
          visitsMs += performance.now() - from;
          windows += share;
          return found;
        },
      });
      return {
        visited: result.visited.map(({ arm, visits: own, stopped }) => ({ id: arm.id, visits: own, stopped })),
        finalists: chooseFinalists(result.ranked.map(({ id }) => byId.get(id)!)).map(({ id }) => id),
        windowMs: screenWindowMs,
        windows: result.windows,
        lengthMs: performance.now() - started - lookedMs,
      };
    } finally {
      await screen.close();
    }
  }

  /** Baseline, every other source model, the fastest arms, and the fastest arm's serving variants, as many as the budget can measure. */
  function chooseFinalists(ranked: readonly Candidate[]): Candidate[] {
    const sources = candidates.filter((one) => isSource(one) && artifacts.has(familyOf(one)));
    const fastest = ranked.filter((one) => !sources.includes(one));
    const lead = fastest[0] ?? baseline;
    const variants = candidates.filter(
      (one) =>
        familyOf(one) === familyOf(lead) &&
        JSON.stringify(one.session) === JSON.stringify(lead.session) &&
        JSON.stringify(one.serving) !== JSON.stringify(lead.serving),
    );
    // A second family says more than a second setting of the first.
    const others = fastest.filter((one) => familyOf(one) !== familyOf(lead));
    const wish = [
      baseline,
      ...sources,
      ...fastest.slice(0, 1),
      ...others.slice(0, 1),
      ...variants.slice(0, 1),
      ...fastest.slice(1),
      ...variants.slice(1),
    ];
    const unique = [...new Map(wish.map((one) => [one.id, one])).values()];
    return unique.slice(0, Math.max(mostFinalists, sources.length + 1));
  }

  for (const candidate of finalists) await lookFirst(candidate);
  const racing = finalists.filter(
    (candidate) => candidate === baseline || ["pass", "not-asked"].includes(judges.accuracy(evidence, candidate.id).result),
  );

  let visitNumber = evidence.visits.length;
  const visit = async (
    contender: Contender,
    purpose: VisitRecord["purpose"],
    block: number,
    ratePerSecond: number,
    windowMs: number,
    seed: string,
  ): Promise<VisitView> => {
    signal.throwIfAborted();
    const records = `records/${String(visitNumber++).padStart(3, "0")}-${purpose}.arrow.gz`;
    const { run, cpuSeconds, wallSeconds, peakBytes } = await fleet.visit(contender, {
      ratePerSecond,
      windowMs,
      warmUpMs,
      seed,
      recordsPath: join(folder, records),
    });
    const record: VisitRecord = {
      id: contender.candidate.id,
      purpose,
      block,
      ratePerSecond,
      seed,
      latencyLimitMs: options.latencyLimitMs,
      artifactDigest: contender.artifact.digest,
      records,
      context: run.context as unknown as Record<string, unknown>,
      cpuSeconds,
      wallSeconds,
      peakBytes,
      warmUpMs,
    };
    append("visit", record, [records], run.table);
    return evidence.visits.at(-1)!;
  };
  const windowFor = (rate: number, visits: number): number =>
    Math.min(mostWindowMs, Math.max(stepMs, (1000 * options.requestsNeeded) / rate / visits));
  const measured = (block: number, id: string): boolean =>
    evidence.visits.some(({ record }) => record.purpose === "rate" && record.block === block && record.id === id);
  const stepsOf = (id: string): CapacityStep[] =>
    evidence.visits
      .filter(({ record }) => record.purpose === "capacity" && record.id === id)
      .map((view) => ({ ratePerSecond: view.record.ratePerSecond, outcome: judges.step(evidence, view) }));

  const measureBlocks = async (rate: number, until: number, leastUntil = until): Promise<void> => {
    if (evidence.ends.some(({ stage }) => stage === "rates")) return;
    const windowMs = windowFor(rate, leastBlocks);
    let block = 0;
    while (racing.every(({ id }) => measured(block, id))) block++;
    for (; block < mostBlocks; block++) {
      // Blocks are added while a candidate is open: invalid ones and stalls cost requests.
      if (block >= leastBlocks && racing.every(({ id }) => judges.settled(evidence, id))) break;
      const limit = block < leastBlocks ? leastUntil : until;
      if (block >= 2 && spent() + racing.length * (windowMs + 500) > limit) return end("rates", "budget");
      for (const candidate of randomStream(evidence.run.rootSeed, "block-order", block).shuffled(racing)) {
        if (measured(block, candidate.id)) continue;
        onProgress({ stage: "latency", ratio: Math.min(1, block / leastBlocks), text: `block ${block + 1} · ${candidate.name}` });
        await visit(contenderOf(candidate), "rate", block, rate, windowMs, seedOf("rate", block));
      }
    }
    end("rates", "complete");
  };
  const confirmFrom = budgetMs * (1 - confirmShare);
  const measureCapacities = async (until: number): Promise<void> => {
    if (evidence.ends.some(({ stage }) => stage === "capacity")) return;
    for (const candidate of racing) {
      if (evidence.probes.has(candidate.id)) continue;
      onProgress({ stage: "capacity", ratio: null, text: `saturating ${candidate.name}` });
      append("probe", {
        id: candidate.id,
        ratePerSecond: Number((0.7 * (await fleet.saturate(contenderOf(candidate), 600, seedOf("probe")))).toPrecision(6)),
      });
    }
    for (;;) {
      let open = false;
      for (const candidate of racing) {
        const steps = stepsOf(candidate.id);
        const rate = nextRate(steps, evidence.probes.get(candidate.id)!);
        if (rate === null) continue;
        const windowMs = windowFor(rate, 1);
        if (spent() + windowMs + 600 > until) return end("capacity", "budget");
        open = true;
        onProgress({ stage: "capacity", ratio: Math.min(1, spent() / until), text: `${candidate.name} at ${Math.round(rate)} requests/s` });
        await visit(contenderOf(candidate), "capacity", steps.length, rate, windowMs, seedOf("capacity", steps.length));
      }
      if (!open) return end("capacity", "complete");
    }
  };
  // Where builds and screening took long, half of what is left; the least that a stated rate needs comes before capacities.
  const ofTheRest = (share: number): number => spent() + share * (confirmFrom - spent());
  const halfway = Math.max(ratesUntil * budgetMs, ofTheRest(0.5));
  if (options.ratePerSecond !== null) {
    await measureBlocks(options.ratePerSecond, halfway, Math.max(halfway, ofTheRest(0.75)));
    await measureCapacities(confirmFrom);
  } else {
    await measureCapacities(halfway);
    const steps = stepsOf(baseline.id);
    const { lowPerSecond } = capacityOf(steps, evidence.probes.get(baseline.id)!, true);
    await measureBlocks(Number((Math.max(1, lowPerSecond || (steps[0]?.ratePerSecond ?? 10)) / 2).toPrecision(4)), confirmFrom);
  }

  // Confirmation: the winner, if it is not the baseline, on a fresh build and fresh seeds.
  const leader = evidence.ends.some(({ stage }) => stage === "confirm") ? null : judges.leader(evidence);
  if (leader !== null) {
    const candidate = byId.get(leader)!;
    onProgress({ stage: "confirmation", ratio: null, text: `building ${candidate.name} afresh` });
    const { record, artifact } = await builder.build(candidate, { fresh: true, startMs: spent() });
    append("build", record);
    if (artifact) {
      const contender = contenderOf(candidate, artifact);
      await look(contender, "confirm", looksAt(candidate, "confirm"));
      const rate = evidence.visits.find((view) => view.record.purpose === "rate")!.record.ratePerSecond;
      const windowMs = windowFor(rate, confirmBlocks);
      // A confirmation that was interrupted is made again whole, in blocks and under seeds of its own.
      const first =
        1 + Math.max(-1, ...evidence.visits.filter(({ record }) => record.purpose === "confirm").map(({ record }) => record.block));
      for (let block = first; block < first + confirmBlocks; block++) {
        const pair = randomStream(evidence.run.rootSeed, "confirm-order", block).shuffled([contender, contenderOf(baseline)]);
        for (const one of pair) {
          onProgress({ stage: "confirmation", ratio: (block - first) / confirmBlocks, text: one.candidate.name });
          await visit(one, "confirm", block, rate, windowMs, seedOf("confirm", block));
        }
      }
    }
    end("confirm", "complete");
  }

  // What the model does with its time, for the baseline and whoever is proposed instead of it.
  for (const candidate of [baseline, ...finalists.filter(({ id }) => id === judges.leader(evidence))]) {
    if (evidence.profiles.some(({ id }) => id === candidate.id)) continue;
    onProgress({ stage: "profile", ratio: null, text: candidate.name });
    const inputsFile = builder.tuningFile(candidate.model);
    const outputs = options.outputsOf(candidate.model);
    const profile = await profileContender(contenderOf(candidate), { inputsFile, outputs, workFolder: options.workFolder, signal });
    if (profile) append("profile", profile);
  }
  end("all", "complete");
}
