/** An ONNX model opened in ONNX Runtime: what the server runs and what the build worker screens. */
import { createRequire } from "node:module";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { AssayError } from "../base/index.ts";
import { dataTypeOfOrt, ortNameOf, type DataType, type Tensor } from "../tensor/index.ts";
import type { SessionSettings } from "../workload/index.ts";

export interface OpenOptions {
  /** Where the runtime writes its profile, path without the ending. */
  profilePrefix?: string;
  /** Where it writes the model as it optimised it. */
  savedTo?: string;
}

/** The runtime's own names of our settings (ONNX Runtime 1.30, SessionOptions). */
function sessionOptions(settings: SessionSettings, { profilePrefix, savedTo }: OpenOptions): InferenceSession.SessionOptions {
  const spin = settings.spinning ? "1" : "0";
  return {
    graphOptimizationLevel: settings.graph,
    intraOpNumThreads: settings.intraThreads,
    interOpNumThreads: settings.interThreads,
    executionMode: settings.execution,
    enableCpuMemArena: settings.arena,
    enableMemPattern: settings.memoryPattern,
    logSeverityLevel: 3,
    ...(profilePrefix !== undefined && { enableProfiling: true, profileFilePrefix: profilePrefix }),
    ...(savedTo !== undefined && { optimizedModelFilePath: savedTo }),
    extra: { session: { intra_op: { allow_spinning: spin }, inter_op: { allow_spinning: spin } } },
  };
}

type Tensors = ReadonlyMap<string, Tensor>;

export interface OnnxSession {
  /** Answers by output name; blocks for the length of one run. Throws what the runtime throws. */
  runNow: (inputs: Tensors) => Tensors;
  /** The same, after what has arrived was handled. */
  run: (inputs: Tensors) => Promise<Tensors>;
  /** Writes the profile of the runs so far, where the session was opened for one. */
  endProfile: () => void;
  close: () => Promise<void>;
}

/**
 * The native session under onnxruntime-node 1.30.0 (`dist/binding.js`). Its public `run` puts each run
 * in a turn of the event loop of its own, which costs a small model as much as the run itself
 * (`bench/results/model-server.md`). The version is pinned exactly.
 */
interface NativeSession {
  loadModel(path: string, options: InferenceSession.SessionOptions): void;
  loadModel(buffer: ArrayBuffer, offset: number, length: number, options: InferenceSession.SessionOptions): void;
  readonly outputMetadata: readonly { name: string }[];
  run(
    feeds: Record<string, OrtTensor>,
    fetches: Record<string, null>,
    options: object,
  ): Record<string, Pick<OrtTensor, "type" | "dims" | "data">>;
  endProfiling(): void;
  dispose(): void;
}
interface Binding {
  binding: { InferenceSession: new () => NativeSession };
  initOrt: () => void;
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
  own: OpenOptions = {},
): Promise<OnnxSession> {
  const ort = load();
  const { binding, initOrt } = require("onnxruntime-node/dist/binding.js") as Binding;
  const options = sessionOptions(settings, own);
  let session: NativeSession;
  try {
    initOrt();
    session = new binding.InferenceSession();
    if (typeof model === "string") session.loadModel(model, options);
    else session.loadModel(model.buffer as ArrayBuffer, model.byteOffset, model.byteLength, options);
  } catch (cause) {
    const what = typeof model === "string" ? model : "the model";
    throw new AssayError("MODEL_UNSUPPORTED", `${what}: ONNX Runtime does not load it: ${(cause as Error).message}`, { cause });
  }
  const wanted = outputs ?? session.outputMetadata.map(({ name }) => name);
  const fetches = Object.fromEntries(wanted.map((name) => [name, null]));
  const runNow = (inputs: Tensors): Tensors => {
    const feeds: Record<string, OrtTensor> = {};
    for (const [name, { datatype, data, shape }] of inputs) {
      feeds[name] = new ort.Tensor(ortNameOf(datatype) as "float32", data as Float32Array, shape as number[]);
    }
    const results = session.run(feeds, fetches, {});
    const found = new Map<string, Tensor>();
    for (const name of wanted) {
      const { type, dims, data } = results[name]!;
      found.set(name, { datatype: dataTypeOfOrt(type) as DataType, shape: dims, data: data as Tensor["data"] });
    }
    return found;
  };
  return {
    runNow,
    run: (inputs) =>
      new Promise((resolve, reject) => {
        setImmediate(() => {
          try {
            resolve(runNow(inputs));
          } catch (fault) {
            reject(fault as Error);
          }
        });
      }),
    endProfile: () => session.endProfiling(),
    close: async () => session.dispose(),
  };
}
