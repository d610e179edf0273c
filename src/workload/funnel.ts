/**
 * The declared space → candidates, each removed one with its reason. A family is a model and a route.
 * Within a family the settings form a star unless every combination is asked for: the defaults, and each declared value of one field with
 * all others at their defaults; runtime switches (execution, spinning, arena, memory pattern) are
 * tried on source models only. A full cross product would be ten times as large, and the switches
 * hardly interact. No model and no route is taken for good.
 */
import {
  candidateOf,
  defaultServing,
  defaultSession,
  routeName,
  type Candidate,
  type CandidateParts,
  type Route,
  type ServingSettings,
  type SessionSettings,
} from "./candidate.ts";
import type { Workload } from "./schema.ts";

export interface ModelFacts {
  id: string;
  digest: string;
  /** Whether every input has a free first size. */
  batchable: boolean;
  /** Routes that the runtime knows, each with the reason why this model cannot take it. */
  routes: readonly { route: Route; refused: string | null }[];
}

export interface Funnel {
  baseline: Candidate;
  /** Baseline first; every other source model as it is, then the rest. */
  candidates: Candidate[];
  /** Combinations before anything was removed. */
  enumerated: number;
  excluded: { stage: "residency" | "licence" | "compatibility" | "fit" | "estimate" | "asked"; name: string; reason: string }[];
}

/** Which candidates were asked for, by patterns of their names; the baseline stays whatever they say. */
export interface NameFilter {
  only?: readonly string[] | undefined;
  exclude?: readonly string[] | undefined;
}

/** Whether a name fits a pattern: `*` stands for anything, and without one a part of the name is enough. */
export function nameFits(name: string, pattern: string): boolean {
  if (!pattern.includes("*")) return name.includes(pattern);
  const escaped = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${escaped.join(".*")}$`, "u").test(name);
}

/** Candidates of one family share the artifact and differ in settings only. */
export const familyOf = ({ modelDigest, route }: Candidate): string => `${modelDigest.slice(0, 12)} ${routeName(route)}`;

/** Cores that one replica may use: as stated, else all but one. */
export const threadsOf = (workload: Workload, cores: number): number => workload.hardware.threads ?? Math.max(1, cores - 1);

/** Why this host cannot hold the workload; null when it can. One core is left to whoever measures. */
export function hostFault(workload: Workload, cores: number): string | null {
  const threads = threadsOf(workload, cores);
  return threads > Math.max(1, cores - 1)
    ? `hardware.threads is ${threads}; this host has ${cores} cores, one of which measures: at most ${Math.max(1, cores - 1)}`
    : null;
}

/** Fields that differ from the baseline: fewer is simpler. */
export function changesOf(candidate: Candidate, baseline: Candidate): number {
  const flat = ({ model, route, session, serving }: Candidate): Record<string, unknown> => ({
    model,
    route: routeName(route),
    ...session,
    ...serving,
  });
  const [a, b] = [flat(candidate), flat(baseline)];
  return Object.keys(a).filter((key) => a[key] !== b[key]).length;
}

interface Settings {
  session: SessionSettings;
  serving: ServingSettings;
}

/** Every combination of the declared values; what is not declared stays at its default. */
function everyCombination({ search }: Workload, threads: number): Settings[] {
  const session = defaultSession(threads);
  const serving = defaultServing;
  const values = <T>(declared: readonly T[] | undefined, base: T): T[] => [...new Set([base, ...(declared ?? [])])];
  let all: Settings[] = [{ session, serving }];
  const times = <T>(some: readonly T[], change: (one: Settings, value: T) => Settings): void => {
    all = all.flatMap((one) => some.map((value) => change(one, value)));
  };
  const vary = <K extends keyof SessionSettings>(name: K, declared: readonly SessionSettings[K][] | undefined): void =>
    times(values(declared, session[name]), (one, value) => ({ ...one, session: { ...one.session, [name]: value } }));
  vary("graph", search.graph);
  vary("execution", search.execution);
  vary("spinning", search.spinning);
  vary("arena", search.arena);
  vary("memoryPattern", search.memoryPattern);
  vary("intraThreads", search.intraThreads);
  all = all.flatMap((one) =>
    one.session.execution === "sequential"
      ? [one]
      : (search.interThreads ?? [2]).map((interThreads) => ({ ...one, session: { ...one.session, interThreads } })),
  );
  times(values(search.replicas, 1), (one, replicas) => ({ ...one, serving: { ...one.serving, replicas } }));
  all = all.flatMap((one) =>
    values(search.batch, 1).flatMap((batchSize) =>
      (batchSize === 1 ? [0] : (search.batchDelayMs ?? [0])).map((batchDelayMs) => ({
        ...one,
        serving: { ...one.serving, batchSize, batchDelayMs },
      })),
    ),
  );
  return all;
}

/** The defaults, and one setting changed at a time. */
function oneAtATime(workload: Workload, threads: number, isSource: boolean): Settings[] {
  const { search } = workload;
  const session = defaultSession(threads);
  const serving = defaultServing;
  const all: Settings[] = [{ session, serving }];
  const vary = (change: Partial<SessionSettings>): void => void all.push({ session: { ...session, ...change }, serving });
  const serve = (change: Partial<ServingSettings>, intraThreads = threads): void =>
    void all.push({ session: { ...session, intraThreads }, serving: { ...serving, ...change } });
  const others = <T>(values: readonly T[] | undefined, otherwise: readonly T[], base: T): T[] =>
    [...new Set(values ?? otherwise)].filter((value) => value !== base);

  for (const graph of others<SessionSettings["graph"]>(search.graph, ["disabled", "basic", "extended", "all"], session.graph))
    vary({ graph });
  for (const intraThreads of others(search.intraThreads, [1, threads], threads)) vary({ intraThreads });
  for (const batchSize of others(search.batch, [1, 8], 1)) {
    for (const batchDelayMs of search.batchDelayMs ?? [0]) serve({ batchSize, batchDelayMs });
  }
  for (const replicas of others(search.replicas, [1, threads], 1)) serve({ replicas }, Math.max(1, Math.floor(threads / replicas)));
  if (!isSource) return all;
  for (const execution of others<SessionSettings["execution"]>(search.execution, ["sequential", "parallel"], "sequential")) {
    for (const interThreads of search.interThreads ?? [2]) vary({ execution, interThreads });
  }
  for (const spinning of others(search.spinning, [true, false], true)) vary({ spinning });
  for (const arena of others(search.arena, [true, false], true)) vary({ arena });
  for (const memoryPattern of others(search.memoryPattern, [true, false], true)) vary({ memoryPattern });
  return all;
}

/** Why settings cannot stand; null when they can. */
function settingsFault(
  { session, serving }: CandidateParts,
  threads: number,
  batchable: boolean,
): { stage: "compatibility" | "fit"; reason: string } | null {
  if (serving.batchSize > 1 && !batchable)
    return { stage: "compatibility", reason: "the model has a fixed first size: requests cannot be joined" };
  if (session.intraThreads * serving.replicas > threads) {
    return {
      stage: "fit",
      reason: `intra-op threads × replicas = ${session.intraThreads * serving.replicas}, hardware.threads is ${threads}`,
    };
  }
  return null;
}

/** Why a candidate was not asked for; null when it was. */
function unaskedBy(name: string, { only, exclude }: NameFilter): string | null {
  if (only && !only.some((pattern) => nameFits(name, pattern))) return `--only ${only.join(" ")} does not name it`;
  const barred = exclude?.find((pattern) => nameFits(name, pattern));
  return barred === undefined ? null : `--exclude ${barred} names it`;
}

/** Enumerates the space and takes out what cannot be. Throws nothing: with no legal candidate only the baseline is left. */
export function candidatesOf(
  workload: Workload,
  facts: { models: readonly ModelFacts[]; cores: number; runtime: { name: string; version: string } } & NameFilter,
): Funnel {
  const { search, allowedLicences } = workload;
  const threads = threadsOf(workload, facts.cores);
  const [first] = facts.models;
  const parts = (model: ModelFacts, route: Route, session: SessionSettings, serving: ServingSettings): CandidateParts => ({
    model: model.id,
    modelDigest: model.digest,
    route,
    runtime: facts.runtime,
    session,
    serving,
  });
  const base = parts(first!, { precision: "fp32" }, defaultSession(threads), defaultServing);
  const baseline = candidateOf(base);
  const excluded: Funnel["excluded"] = [];
  /** What is declared, or else what goes without saying: a route is wanted when each of its fields is. */
  const declared: Record<string, readonly unknown[]> = {
    precision: search.precision ?? ["fp32", "fp16", "int8-dynamic", "int8-static", "int8-weights", "int4-weights"],
    compute: search.compute ?? ["half"],
    operators: search.operators ?? ["all"],
    accuracyLevel: search.accuracyLevel ?? [4],
    perChannel: search.perChannel ?? [false, true],
    activations: search.activations ?? ["uint8"],
    symmetric: search.symmetric ?? [false],
    calibration: search.calibration ?? ["minmax"],
    form: search.form ?? ["qdq"],
  };
  const wanted = (route: Route): boolean =>
    route.precision === "fp32" || Object.entries(route).every(([field, value]) => declared[field]!.includes(value));
  let enumerated = 0;
  const sources: Candidate[] = [];
  const rest: Candidate[] = [];
  for (const model of facts.models) {
    const licence = workload.models.find(({ id }) => id === model.id)?.licence;
    const barred = allowedLicences && model !== first && !(licence !== undefined && allowedLicences.includes(licence));
    for (const { route, refused } of model.routes) {
      if (!wanted(route)) continue;
      const isSource = route.precision === "fp32";
      const all = search.combine === "every" ? everyCombination(workload, threads) : oneAtATime(workload, threads, isSource);
      enumerated += all.length;
      const family = `${model.id} · ${routeName(route)}`;
      if (barred)
        excluded.push({ stage: "licence", name: family, reason: `licence ${licence ?? "not stated"} is not among allowedLicences` });
      else if (refused !== null) excluded.push({ stage: "compatibility", name: family, reason: refused });
      else {
        for (const { session, serving } of all) {
          const own = parts(model, route, session, serving);
          const candidate = candidateOf(own, base);
          const fault = settingsFault(own, threads, model.batchable);
          const unasked = candidate.id === baseline.id ? null : unaskedBy(candidate.name, facts);
          if (fault) excluded.push({ ...fault, name: candidate.name });
          else if (unasked) excluded.push({ stage: "asked", name: candidate.name, reason: unasked });
          else (isSource && session === all[0]!.session && serving === all[0]!.serving ? sources : rest).push(candidate);
        }
      }
    }
  }
  const seen = new Set<string>();
  const candidates = [baseline, ...sources, ...rest].filter(({ id }) => !seen.has(id) && seen.add(id));
  return { baseline, candidates, enumerated, excluded };
}

/** The settings of a session that differ from the baseline's, each as name and value. */
export const settingsChanged = (candidate: Candidate, baseline: Candidate): string[] =>
  Object.entries(candidate.session).flatMap(([name, value]) =>
    value === baseline.session[name as keyof SessionSettings] ? [] : [`${name} ${String(value)}`],
  );

/** Whether a candidate runs at its family's default settings. */
export const isDefault = (candidate: Candidate, baseline: Candidate): boolean =>
  JSON.stringify([candidate.session, candidate.serving]) === JSON.stringify([baseline.session, baseline.serving]);
