/** The ONNX Runtime worker: builds a route, tries an artifact once, or screens arms. */
import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import { clone as copyOf, toBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema } from "onnx-buf";
import { asAssayError } from "../../base/index.ts";
import {
  digestFile,
  onnxRuntimeVersion,
  openOnnxSession,
  profileOnnxModel,
  readGroups,
  type readModel,
  type OnnxSession,
} from "../../artifact/index.ts";
import { writeWhole } from "../../host/index.ts";
import type { Tensor } from "../../tensor/index.ts";
import { JobFault, runWorker, type JobContext } from "../worker.ts";
import { calibrate } from "./calibrate.ts";
import { clean } from "./clean.ts";
import { quantiseBlockwise } from "./block-weights.ts";
import { convertToFloat16, storeInFloat16 } from "./float16.ts";
import { importMicrosoft } from "./graph.ts";
import { spread } from "./items.ts";
import { quantiseDynamically } from "./int8-dynamic.ts";
import { quantiseStatically } from "./int8-static.ts";
import { quantiseToOperators } from "./qoperator.ts";
import { jobKind, type BuildJob, type OnnxJob, type ProfileJob, type ScreenJob, type SmokeJob } from "./jobs.ts";

const modelName = "model.onnx";

/** The files as they are: nothing is read in, so a model may be larger than a message can be. */
function copyFiles({ modelPath, externalFiles, outFolder }: BuildJob): void {
  copyFileSync(modelPath, join(outFolder, modelName));
  for (const location of externalFiles) {
    const to = join(outFolder, location);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(join(dirname(modelPath), location), to);
  }
}

/** Rewrites the model in place by its route; returns how many operators or constants changed. */
async function rewrite(model: ReturnType<typeof readModel>, job: BuildJob, context: JobContext): Promise<number> {
  const { route, weightBits } = job;
  switch (route.precision) {
    case "fp32":
      return 0;
    case "fp16":
      return context.phase("convert", () => (route.compute === "half" ? convertToFloat16(model.graph) : storeInFloat16(model.graph)));
    case "int8-dynamic":
      return context.phase("quantise", () => quantiseDynamically(model.graph, route.operators, weightBits));
    case "int8-static": {
      const data = readGroups(job.calibrationFile!);
      const copy = copyOf(ModelProtoSchema, model) as typeof model;
      const ranges = await context.phase("calibrate", (progress) => calibrate(copy, data, job, route, progress));
      const quantise = route.form === "qdq" ? quantiseStatically : quantiseToOperators;
      return context.phase("quantise", () => quantise(model.graph, ranges, { ...route, weightBits }));
    }
    case "int8-weights":
    case "int4-weights": {
      const bits = route.precision === "int8-weights" ? 8 : 4;
      return context.phase("quantise", () => quantiseBlockwise(model.graph, { bits, accuracyLevel: route.accuracyLevel }));
    }
  }
}

async function build(job: BuildJob, context: JobContext): Promise<void> {
  const path = join(job.outFolder, modelName);
  if (job.route.precision === "fp32") await context.phase("copy", () => copyFiles(job));
  else {
    const model = await context.phase("clean", () => clean(job));
    if ((await rewrite(model, job, context)) === 0) throw new JobFault("unsupported_op", "no operator of the model can take this route");
    model.producerName = "assay";
    importMicrosoft(model);
    model.graph.valueInfo = [];
    await context.phase("write", () => writeWhole(path, toBinary(ModelProtoSchema, model)));
  }
  context.artifact({ path, bytes: statSync(path).size, sha256: await digestFile(path), kind: "onnx", entry: modelName });
}

/** Exponent bits of a half: all set = infinite or no number. */
const halfExponent = 0x7c00;

function checkOutputs(found: ReadonlyMap<string, Tensor>): void {
  for (const [name, { data, datatype }] of found) {
    if (Array.isArray(data)) continue;
    for (const value of data) {
      const sound =
        datatype === "FP16" ? (Number(value) & halfExponent) !== halfExponent : typeof value !== "number" || Number.isFinite(value);
      if (!sound)
        throw new JobFault("artifact_invalid", `output "${name}" holds ${datatype === "FP16" ? "a value that is not finite" : value}`);
    }
  }
}

async function open(path: string, job: Pick<SmokeJob, "session" | "outputs">): Promise<OnnxSession> {
  try {
    return await openOnnxSession(path, job.session, job.outputs);
  } catch (fault) {
    throw new JobFault("unsupported_op", asAssayError(fault).message);
  }
}

/** Items that an artifact is tried on. */
const smokeItems = 32;

async function smoke(job: SmokeJob, context: JobContext): Promise<void> {
  const session = await context.phase("load", () => open(job.modelPath, job));
  await context.phase("run", async () => {
    const items = spread(readGroups(job.inputsFile), job.rows, smokeItems);
    if (items.length === 0) throw new JobFault("artifact_invalid", "there is no item to try it on");
    try {
      for (const item of items) checkOutputs(await session.run(item));
    } catch (fault) {
      throw fault instanceof JobFault
        ? fault
        : new JobFault("artifact_invalid", `it loads and does not run: ${asAssayError(fault).message}`);
    }
  });
}

async function profile(job: ProfileJob, context: JobContext): Promise<void> {
  const inputs = spread(readGroups(job.inputsFile), job.rows, mostInputs);
  const { runs, runUs, operators } = await context.phase("profile", () =>
    profileOnnxModel(job.modelPath, job.session, job.outputs, inputs, { folder: job.folder, windowMs: job.windowMs }),
  );
  context.metric("run", runUs, "us", runs);
  for (const { op, nodes, us } of operators) context.metric(op, us, "us", nodes);
}

/** Different inputs that an arm runs in turn. */
const mostInputs = 32;
/** Runs before the clock starts, at least, and for at least this share of the window. */
const warmRuns = 3;

/** Share of the host's memory that the models of open sessions may take. */
const openShare = 0.25;

async function screen(job: ScreenJob, context: JobContext): Promise<void> {
  const arms = new Map(job.arms.map((arm) => [arm.id, arm]));
  const opened = new Map<string, { session: OnnxSession; inputs: ReadonlyMap<string, Tensor>[] }>();
  const bytesOf = (id: string): number => arms.get(id)!.bytes;
  const prepare = async (id: string) => {
    const known = opened.get(id);
    if (known) {
      // The order of the map is that of the last use.
      opened.delete(id);
      opened.set(id, known);
      return known;
    }
    const arm = arms.get(id);
    if (!arm) throw new Error(`arm ${id} was not announced`);
    let held = [...opened.keys()].reduce((sum, one) => sum + bytesOf(one), arm.bytes);
    for (const [oldest, { session: done }] of opened) {
      if (held <= openShare * totalmem()) break;
      opened.delete(oldest);
      held -= bytesOf(oldest);
      await done.close();
    }
    const session = await openOnnxSession(arm.modelPath, arm.session, arm.outputs);
    const made = { session, inputs: spread(readGroups(arm.inputsFile), arm.rows, mostInputs) };
    opened.set(id, made);
    return made;
  };
  for await (const command of context.commands()) {
    if (command.type !== "visit") continue;
    const { visit, arm, windowMs, cutOffMsPerItem } = command;
    const say = (value: number | null, reason?: string): void => context.metric("ms_per_item", value, "ms", visit, reason);
    try {
      const { session, inputs } = await prepare(arm);
      const tooSlow = (ms: number): boolean => cutOffMsPerItem !== null && ms > cutOffMsPerItem;
      const begun = performance.now();
      checkOutputs(await session.run(inputs[0]!));
      // The first run of a session allocates; two slow ones after it, or one that is far too slow, end the visit.
      let slow = 0;
      for (let k = 0; k < warmRuns && slow < 2 && (k === 0 || performance.now() - begun < windowMs / 5); k++) {
        const from = performance.now();
        await session.run(inputs[k % inputs.length]!);
        const took = performance.now() - from;
        slow += tooSlow(took / 4) ? 2 : Number(tooSlow(took));
      }
      if (slow >= 2) {
        say(null, "cut off: one item costs too many times the leader's");
        continue;
      }
      const times: number[] = [];
      for (const start = performance.now(); performance.now() - start < windowMs || times.length < 3;) {
        const from = performance.now();
        await session.run(inputs[times.length % inputs.length]!);
        times.push(performance.now() - from);
        if (performance.now() - start > 4 * windowMs) break;
      }
      // The median: a stall of the host moves it little, and a mode that is slow half the time still shows.
      const sorted = times.sort((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)]!;
      if (tooSlow(median)) say(null, "cut off: one item costs too many times the leader's");
      else say(median);
    } catch (fault) {
      say(null, asAssayError(fault).message);
    }
  }
}

runWorker({ name: "onnxruntime", stack: () => ({ onnxruntime: onnxRuntimeVersion() }) }, async (spec, context) => {
  const job = spec as OnnxJob;
  switch (jobKind.parse(spec).kind) {
    case "build":
      return build(job as BuildJob, context);
    case "smoke":
      return smoke(job as SmokeJob, context);
    case "screen":
      return screen(job as ScreenJob, context);
    case "profile":
      return profile(job as ProfileJob, context);
  }
});
