/**
 * The step before a rewriting: the operator set raised where the route needs it, constants folded and
 * what the runtime always joins joined (batch normalisation into convolutions), so that the quantisers
 * find the weights. A model that then answers otherwise is not used.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema, type GraphProto, type ModelProto } from "onnx-buf";
import { asAssayError } from "../../base/index.ts";
import { openOnnxSession, readGroups, readModel } from "../../artifact/index.ts";
import { closeness } from "../../stats/index.ts";
import type { Tensor } from "../../tensor/index.ts";
import { defaultSession } from "../../workload/index.ts";
import { JobFault } from "../worker.ts";
import { spread } from "./items.ts";
import type { BuildJob } from "./jobs.ts";
import { neededOpset, raiseOpset } from "./opset.ts";

type Model = ModelProto & { graph: GraphProto };

const comparedItems = 8;
/** Largest relative difference of the answers to one item: what another order of the same sums can make. */
const mostDifference = 1e-4;
/** Larger models are not folded: the runtime takes no message above 2 GB. */
const mostBytes = 2 ** 30;

/** The first output that answers otherwise, in words; null = none does. */
function difference(before: ReadonlyMap<string, Tensor>, after: ReadonlyMap<string, Tensor>): string | null {
  for (const [name, tensor] of before) {
    const own = after.get(name);
    if (own?.shape.join() !== tensor.shape.join())
      return `output "${name}" has shape [${own?.shape.join()}] instead of [${tensor.shape.join()}]`;
    const floats = tensor.datatype === "FP32" || tensor.datatype === "FP64";
    if (!floats) {
      const at = Array.from<unknown>(tensor.data as string[]).findIndex((value, k) => value !== own.data[k]);
      if (at >= 0) return `output "${name}", element ${at} is ${own.data[at]} instead of ${tensor.data[at]}`;
      continue;
    }
    const far = closeness([[tensor.data as Float32Array, own.data as Float32Array]])?.relativeL2.value ?? 0;
    if (!(far <= mostDifference)) return `output "${name}" differs by ${far.toPrecision(3)} of its length`;
  }
  return null;
}

export type CleanJob = Pick<BuildJob, "modelPath" | "route" | "outFolder" | "inputsFile" | "rows" | "outputs">;

/** The model, cleaned. Throws `unsupported_op` or `artifact_invalid`. */
export async function clean(job: CleanJob): Promise<Model> {
  const answersOf = async (model: string | Uint8Array): Promise<ReadonlyMap<string, Tensor>[]> => {
    const session = await openOnnxSession(model, defaultSession(1), job.outputs);
    try {
      return spread(readGroups(job.inputsFile), job.rows, comparedItems).map((item) => session.runNow(item));
    } finally {
      await session.close();
    }
  };
  const before = await answersOf(job.modelPath);
  const otherwise = async (model: Model): Promise<string | null> => {
    try {
      const after = await answersOf(toBinary(ModelProtoSchema, model));
      return before.flatMap((one, item) => difference(one, after[item]!) ?? [])[0] ?? null;
    } catch (fault) {
      return asAssayError(fault).message;
    }
  };

  const model = readModel(job.modelPath);
  const raised = Number(model.opsetImport.find(({ domain }) => domain === "")?.version ?? 0) < neededOpset(job.route);
  if (raised) raiseOpset(model);
  // Old files list their constants among the inputs, where a caller might replace them.
  const constants = new Set(model.graph.initializer.map(({ name }) => name));
  model.graph.input = model.graph.input.filter(({ name }) => !constants.has(name));
  if (model.irVersion < 7n) model.irVersion = 7n;

  const bytes = toBinary(ModelProtoSchema, model);
  if (bytes.byteLength < mostBytes) {
    const savedTo = join(job.outFolder, "clean.onnx");
    try {
      const session = await openOnnxSession(bytes, { ...defaultSession(1), graph: "basic" }, null, { savedTo });
      await session.close();
      const folded = readModel(savedTo);
      if ((await otherwise(folded)) === null) return folded;
    } catch {
      // What the runtime cannot fold or write is rewritten as it is.
    } finally {
      rmSync(savedTo, { force: true });
    }
  }
  const fault = await otherwise(model);
  if (fault !== null)
    throw new JobFault(
      "artifact_invalid",
      `${raised ? "raised to another operator set" : "cleaned"}, the model answers otherwise: ${fault}`,
    );
  return model;
}
