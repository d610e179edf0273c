/**
 * A candidate: one deployable combination of model, build route, runtime settings and serving
 * settings. Its id is the digest of all of them, so that evidence can never be read for another.
 */
import { digestJson, type Json } from "../base/index.ts";

/** Static int8: ranges of the activations from the calibration split. */
export interface StaticRoute {
  precision: "int8-static";
  /** One scale an output channel of the weights, or one a tensor. */
  perChannel: boolean;
  /** Type of the quantised activations; the weights are int8. */
  activations: "uint8" | "int8";
  /** Whether ranges of activations are as wide below 0 as above. */
  symmetric: boolean;
  /** Conv too, or MatMul and Gemm only. */
  operators: "all" | "matmul";
  /** How a range is taken: its ends, 99.99 % of the values, or the cut that loses least information. */
  calibration: "minmax" | "percentile" | "entropy";
  /** QuantizeLinear / DequantizeLinear pairs that the runtime fuses, or its fused operators themselves. */
  form: "qdq" | "qoperator";
}

/** How the source model becomes the artifact. */
export type Route =
  | { precision: "fp32" }
  /** Weights in half precision; computed in half precision too, or in single. */
  | { precision: "fp16"; compute: "half" | "single" }
  | { precision: "int8-dynamic"; operators: "all" | "matmul" }
  | StaticRoute
  /** MatMul weights in blocks of 32 with a scale each; activations stay float (level 0) or become int8 in the kernel (level 4). */
  | { precision: "int8-weights"; accuracyLevel: 0 | 4 }
  | { precision: "int4-weights"; accuracyLevel: 0 | 4 };

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

/** The precision and its variant in a few words: `int8-static per-channel s8`; what is usual goes without saying. */
export function routeName(route: Route): string {
  const unusual = (...words: (string | false)[]): string => words.filter(Boolean).join(" ");
  switch (route.precision) {
    case "fp32":
      return "fp32";
    case "fp16":
      return unusual("fp16", route.compute === "single" && "storage");
    case "int8-dynamic":
      return unusual("int8-dynamic", route.operators === "matmul" && "matmul");
    case "int8-static":
      return unusual(
        `int8-static ${route.perChannel ? "per-channel" : "per-tensor"} ${route.activations === "uint8" ? "u8" : "s8"}`,
        route.symmetric && "symmetric",
        route.operators === "matmul" && "matmul",
        route.calibration !== "minmax" && route.calibration,
        route.form === "qoperator" && "qoperator",
      );
    default:
      return unusual(route.precision, route.accuracyLevel === 0 && "level 0");
  }
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
