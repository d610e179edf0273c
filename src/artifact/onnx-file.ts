/**
 * ONNX files as protobuf: the bytes of a model become the message of `onnx.proto3`, with the tensors
 * that the model keeps in files of its own checked, listed and, where asked, read in.
 */
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, sep } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema, TensorProto_DataLocation, type GraphProto, type ModelProto, type TensorProto } from "onnx-buf";
import { AssayError } from "../base/index.ts";

export interface ExternalFile {
  /** Path relative to the model file, with `/`. */
  location: string;
  bytes: number;
}

/** Every graph of a model: the main one and those inside `If`, `Loop`, `Scan` and functions. */
export function* graphsOf(graph: GraphProto): Generator<GraphProto> {
  yield graph;
  for (const node of graph.node) {
    for (const attribute of node.attribute) {
      for (const inner of attribute.g ? [attribute.g, ...attribute.graphs] : attribute.graphs) yield* graphsOf(inner);
    }
  }
}

function* tensorsOf(model: ModelProto): Generator<TensorProto> {
  if (!model.graph) return;
  for (const graph of graphsOf(model.graph)) {
    yield* graph.initializer;
    for (const node of graph.node) for (const { t, tensors } of node.attribute) yield* t ? [t, ...tensors] : tensors;
  }
}

/** The message under the bytes. Throws MODEL_UNREADABLE, naming `where`, when they are no ONNX model. */
export function parseModel(bytes: Uint8Array, where: string): ModelProto & { graph: GraphProto } {
  let model: ModelProto;
  try {
    model = fromBinary(ModelProtoSchema, bytes);
  } catch (cause) {
    throw new AssayError("MODEL_UNREADABLE", `${where}: not an ONNX model, or cut short (${bytes.byteLength} bytes)`, { cause });
  }
  const missing = !model.graph
    ? "no graph"
    : model.graph.output.length === 0
      ? "no output"
      : model.opsetImport.length === 0
        ? "no operator set"
        : null;
  if (missing) throw new AssayError("MODEL_UNREADABLE", `${where}: not an ONNX model: it has ${missing}`);
  return model as ModelProto & { graph: GraphProto };
}

interface Placement {
  location: string;
  offset: number;
  /** Bytes, or undefined for "to the end of the file". */
  length: number | undefined;
}

function placementOf(tensor: TensorProto, where: string): Placement {
  const fields = new Map(tensor.externalData.map(({ key, value }) => [key, value]));
  const location = normalize((fields.get("location") ?? "").replaceAll("\\", "/"));
  const outside = location === "." || isAbsolute(location) || location === ".." || location.startsWith(`..${sep}`);
  const [offset, length] = [Number(fields.get("offset") ?? 0), fields.has("length") ? Number(fields.get("length")) : undefined];
  if (outside || !Number.isSafeInteger(offset) || offset < 0 || (length !== undefined && !Number.isSafeInteger(length))) {
    const said = JSON.stringify(Object.fromEntries(fields));
    throw new AssayError("MODEL_EXTERNAL_DATA", `${where}: tensor "${tensor.name}" points at ${said}; expected a file beside the model`);
  }
  return { location: location.split(sep).join("/"), offset, length };
}

const isExternal = (tensor: TensorProto): boolean => tensor.dataLocation === TensorProto_DataLocation.EXTERNAL;

/** The files that hold tensors of the model, in order of name. Throws MODEL_EXTERNAL_DATA for one that is missing or too short. */
export function externalFilesOf(model: ModelProto, path: string): ExternalFile[] {
  const found = new Map<string, number>();
  for (const tensor of tensorsOf(model)) {
    if (!isExternal(tensor)) continue;
    const { location, offset, length } = placementOf(tensor, path);
    let bytes = found.get(location);
    if (bytes === undefined) {
      const stat = statSync(join(dirname(path), location), { throwIfNoEntry: false });
      if (!stat?.isFile())
        throw new AssayError("MODEL_EXTERNAL_DATA", `${path}: tensor "${tensor.name}" is in ${location}, which is missing`);
      bytes = stat.size;
      found.set(location, bytes);
    }
    const end = offset + (length ?? 0);
    if (end > bytes) {
      throw new AssayError(
        "MODEL_EXTERNAL_DATA",
        `${path}: tensor "${tensor.name}" ends at byte ${end} of ${location}, which has ${bytes} bytes`,
      );
    }
  }
  return [...found].map(([location, bytes]) => ({ location, bytes })).sort((a, b) => (a.location < b.location ? -1 : 1));
}

/** The whole model in memory, external tensors included. Throws MODEL_UNREADABLE and MODEL_EXTERNAL_DATA. */
export function readModel(path: string): ModelProto & { graph: GraphProto } {
  const model = parseModel(readFileBytes(path), path);
  const files = new Map(externalFilesOf(model, path).map(({ location }) => [location, readFileSync(join(dirname(path), location))]));
  for (const tensor of tensorsOf(model)) {
    if (!isExternal(tensor)) continue;
    const { location, offset, length } = placementOf(tensor, path);
    const file = files.get(location)!;
    tensor.rawData = new Uint8Array(file.subarray(offset, length === undefined ? undefined : offset + length));
    tensor.externalData = [];
    tensor.dataLocation = TensorProto_DataLocation.DEFAULT;
  }
  return model;
}

/** The bytes of a model file. Throws MODEL_UNREADABLE when the system refuses. */
export function readFileBytes(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new AssayError("MODEL_UNREADABLE", `${path}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown fault"})`, {
      cause,
    });
  }
}

/** Hex SHA-256 of a file, read in pieces. */
export async function digestFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(piece as Buffer);
  return hash.digest("hex");
}
