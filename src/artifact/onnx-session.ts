/** An ONNX model opened in ONNX Runtime: what the server runs and what the build worker screens. */
import { createRequire } from "node:module";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { AssayError } from "../base/index.ts";
import { dataTypeOfOrt, ortNameOf, type DataType, type Tensor } from "../tensor/index.ts";
import type { SessionSettings } from "../workload/index.ts";

/** The runtime's own names of our settings (ONNX Runtime 1.30, SessionOptions). */
function sessionOptions(settings: SessionSettings): InferenceSession.SessionOptions {
  const spin = settings.spinning ? "1" : "0";
  return {
    graphOptimizationLevel: settings.graph,
    intraOpNumThreads: settings.intraThreads,
    interOpNumThreads: settings.interThreads,
    executionMode: settings.execution,
    enableCpuMemArena: settings.arena,
    enableMemPattern: settings.memoryPattern,
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: spin }, inter_op: { allow_spinning: spin } } },
  };
}

export interface OnnxSession {
  /** Answers by output name. Throws what the runtime throws. */
  run: (inputs: ReadonlyMap<string, Tensor>) => Promise<ReadonlyMap<string, Tensor>>;
  close: () => Promise<void>;
}

const require = createRequire(import.meta.url);
const load = (): typeof import("onnxruntime-node") => require("onnxruntime-node") as typeof import("onnxruntime-node");

/** Version of ONNX Runtime as loaded. */
export const onnxRuntimeVersion = (): string => load().env.versions.node ?? "unknown";

/**
 * Opens a model. Blocks the event loop for its whole length, so it belongs in a process of its own.
 * @param outputs the outputs to compute; null = all
 * Throws MODEL_UNSUPPORTED with the runtime's own words.
 */
export async function openOnnxSession(
  model: string | Uint8Array,
  settings: SessionSettings,
  outputs: readonly string[] | null,
): Promise<OnnxSession> {
  const ort = load();
  let session: InferenceSession;
  try {
    session = await (typeof model === "string"
      ? ort.InferenceSession.create(model, sessionOptions(settings))
      : ort.InferenceSession.create(model, sessionOptions(settings)));
  } catch (cause) {
    const what = typeof model === "string" ? model : "the model";
    throw new AssayError("MODEL_UNSUPPORTED", `${what}: ONNX Runtime does not load it: ${(cause as Error).message}`, { cause });
  }
  const wanted = outputs ?? session.outputNames;
  return {
    async run(inputs) {
      const feeds: Record<string, OrtTensor> = {};
      for (const [name, { datatype, data, shape }] of inputs) {
        feeds[name] = new ort.Tensor(ortNameOf(datatype) as "float32", data as Float32Array, shape as number[]);
      }
      const results = await session.run(feeds, wanted);
      const found = new Map<string, Tensor>();
      for (const name of wanted) {
        const { type, dims, data } = results[name]!;
        found.set(name, { datatype: dataTypeOfOrt(type) as DataType, shape: dims, data: data as Tensor["data"] });
      }
      return found;
    },
    close: () => session.release(),
  };
}
