/** Where the time of a run goes inside a model: ONNX Runtime's own profile, summed by operator. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { AssayError } from "../base/index.ts";
import type { Tensor } from "../tensor/index.ts";
import type { SessionSettings } from "../workload/index.ts";
import { openOnnxSession } from "./onnx-session.ts";

export interface ProfiledOperator {
  /** ONNX name, with its domain where it is not the standard one; fused operators under the runtime's name. */
  op: string;
  /** Nodes of that operator in the graph as the runtime optimised it. */
  nodes: number;
  /** Microseconds of one run, mean. */
  us: number;
}

export interface OnnxProfile {
  runs: number;
  /** Microseconds of one run as the caller sees it, mean; the profiler's own cost is in it. */
  runUs: number;
  /** Longest first. */
  operators: ProfiledOperator[];
}

const Events = z.array(
  z.looseObject({
    cat: z.string(),
    name: z.string(),
    dur: z.number().optional(),
    args: z.looseObject({ op_name: z.string().optional(), node_index: z.string().optional() }).optional(),
  }),
);

/** Runs that come first and are left out: the first ones allocate. */
const warmRuns = 5;

/** Sums the events of kernels by operator over the runs after the first ones. */
export function sumProfile(events: unknown, runs: number): ProfiledOperator[] {
  const kernels = Events.parse(events).filter(({ cat, name, args }) => cat === "Node" && name.endsWith("_kernel_time") && args?.op_name);
  const perRun = kernels.length / (runs + warmRuns);
  const found = new Map<string, { nodes: Set<string>; us: number }>();
  for (const { name, dur = 0, args } of kernels.slice(Math.round(perRun * warmRuns))) {
    const op = args!.op_name!;
    const sum = found.get(op) ?? { nodes: new Set<string>(), us: 0 };
    sum.nodes.add(args!.node_index ?? name);
    sum.us += dur;
    found.set(op, sum);
  }
  return [...found]
    .map(([op, { nodes, us }]) => ({ op, nodes: nodes.size, us: us / runs }))
    .sort((a, b) => b.us - a.us || (a.op < b.op ? -1 : 1));
}

/**
 * Runs a model for about that long with the profiler on. Blocks the event loop: for a process of its own.
 * Throws MODEL_UNSUPPORTED, or what the runtime throws.
 * @param folder an empty folder for the runtime's file
 */
export async function profileOnnxModel(
  path: string,
  settings: SessionSettings,
  outputs: readonly string[],
  inputs: readonly ReadonlyMap<string, Tensor>[],
  { folder, windowMs }: { folder: string; windowMs: number },
): Promise<OnnxProfile> {
  const session = await openOnnxSession(path, settings, outputs, { profilePrefix: join(folder, "profile") });
  for (let run = 0; run < warmRuns; run++) session.runNow(inputs[run % inputs.length]!);
  const begun = performance.now();
  let runs = 0;
  for (; performance.now() - begun < windowMs || runs < 10; runs++) session.runNow(inputs[runs % inputs.length]!);
  const runUs = ((performance.now() - begun) * 1000) / runs;
  session.endProfile();
  await session.close();
  const [file] = readdirSync(folder);
  if (file === undefined) throw new AssayError("MODEL_UNSUPPORTED", `${path}: the runtime wrote no profile`);
  return { runs, runUs, operators: sumProfile(JSON.parse(readFileSync(join(folder, file), "utf8")), runs) };
}
