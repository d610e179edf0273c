/**
 * A candidate: one deployable combination of model, build route, runtime settings and serving
 * settings. Its id is the digest of all of them, so that evidence can never be read for another.
 */
import { digestJson, type Json } from "../base/index.ts";

/** How the source model becomes the artifact. */
export type Route =
  | { precision: "fp32" }
  | { precision: "fp16" }
  | { precision: "int8-dynamic" }
  | {
      precision: "int8-static";
      /** One scale an output channel of the weights, or one a tensor. */
      perChannel: boolean;
      /** Type of the quantised activations; the weights are int8. */
      activations: "uint8" | "int8";
    };

/** How the runtime runs the artifact. The defaults of the runtime are in `defaultSession`. */
export interface SessionSettings {
  graph: "disabled" | "basic" | "extended" | "all";
  intraThreads: number;
  interThreads: number;
  execution: "sequential" | "parallel";
  /** Whether idle threads of the pool spin. */
  spinning: boolean;
  arena: boolean;
  memoryPattern: boolean;
}

/** How the server feeds the runtime. */
export interface ServingSettings {
  /** Processes that each hold the model. */
  replicas: number;
  /** Most requests joined in one run; 1 = no batching. */
  batchSize: number;
  /** Longest wait for a batch to fill, milliseconds. */
  batchDelayMs: number;
  /** Most requests that wait in one replica; more are refused with 503. */
  queueLimit: number;
}

export interface CandidateParts {
  /** The workload's own name of the model. */
  model: string;
  /** SHA-256 of the model file and its external data. */
  modelDigest: string;
  route: Route;
  runtime: { name: string; version: string };
  session: SessionSettings;
  serving: ServingSettings;
}

export interface Candidate extends CandidateParts {
  /** Hex SHA-256 of the canonical JSON of the parts, `model` (a mere name) left out. */
  id: string;
  /** The fields that differ from the baseline, for people: `mlp · int8-static per-tensor u8 · batch 8`. */
  name: string;
}

/** What the runtime does when nothing is asked for, with that many intra-op threads. */
export const defaultSession = (intraThreads: number): SessionSettings => ({
  graph: "all",
  intraThreads,
  interThreads: 1,
  execution: "sequential",
  spinning: true,
  arena: true,
  memoryPattern: true,
});

export const defaultServing: ServingSettings = { replicas: 1, batchSize: 1, batchDelayMs: 0, queueLimit: 512 };

/** The precision and its variant in a few words: `int8-static per-channel s8`. */
export function routeName(route: Route): string {
  if (route.precision !== "int8-static") return route.precision;
  return `int8-static ${route.perChannel ? "per-channel" : "per-tensor"} ${route.activations === "uint8" ? "u8" : "s8"}`;
}

function differences(parts: CandidateParts, baseline: CandidateParts): string[] {
  const said: string[] = [];
  const note = (differs: boolean, words: string): void => void (differs && said.push(words));
  const { session: s, serving: v } = parts;
  const { session: s0, serving: v0 } = baseline;
  note(routeName(parts.route) !== routeName(baseline.route), routeName(parts.route));
  note(s.graph !== s0.graph, `graph ${s.graph}`);
  note(s.intraThreads !== s0.intraThreads, `${s.intraThreads} intra threads`);
  note(s.interThreads !== s0.interThreads, `${s.interThreads} inter threads`);
  note(s.execution !== s0.execution, `${s.execution} mode`);
  note(s.spinning !== s0.spinning, s.spinning ? "spinning" : "no spinning");
  note(s.arena !== s0.arena, s.arena ? "arena" : "no arena");
  note(s.memoryPattern !== s0.memoryPattern, s.memoryPattern ? "memory pattern" : "no memory pattern");
  note(v.replicas !== v0.replicas, `${v.replicas} replicas`);
  note(v.batchSize !== v0.batchSize, `batch ${v.batchSize}`);
  note(v.batchSize > 1 && v.batchDelayMs > 0, `delay ${v.batchDelayMs} ms`);
  return said;
}

/** Names the parts and gives them their id. The baseline is named by its model and "as it is". */
export function candidateOf(parts: CandidateParts, baseline: CandidateParts = parts): Candidate {
  const { model: _, ...identity } = parts;
  const said = differences(parts, baseline);
  return {
    ...parts,
    id: digestJson(identity as unknown as Json),
    name: [parts.model, ...(said.length > 0 ? said : ["as it is"])].join(" · "),
  };
}
