/**
 * Open Inference Protocol v2 over REST: the bytes of an inference request → tensors, and back. JSON
 * and the binary tensor extension, both ways. Every fault of the client is a `ClientFault` that names
 * it, also where Triton answers 500.
 */
import {
  bytesOfData,
  dataOfBytes,
  dataTypes,
  elementBytes,
  elementCount,
  zeros,
  type DataType,
  type Tensor,
  type TensorSpec,
} from "../tensor/index.ts";
import { liftLists, readNumbers, type Lifted } from "./numbers.ts";

/** What the client did wrong: HTTP status 400. */
export class ClientFault extends Error {}

export interface InferRequest {
  id: string | null;
  inputs: Map<string, Tensor>;
  outputs: { name: string; binary: boolean }[];
  /** Items of the first dimension; 1 for a model without a batch dimension. */
  items: number;
}

export interface ModelInterface {
  name: string;
  inputs: readonly TensorSpec[];
  outputs: readonly TensorSpec[];
}

interface WireTensor {
  name?: unknown;
  shape?: unknown;
  datatype?: unknown;
  data?: unknown;
  parameters?: { binary_data_size?: unknown; binary_data?: unknown };
}

const fault = (message: string): ClientFault => new ClientFault(message);
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fault(`the request is no JSON: ${(cause as Error).message}`);
  }
}

interface Head {
  fields: Record<string, unknown>;
  lists: Lifted["lists"];
}

function parseHead(bytes: Buffer): Head {
  const { text, lists } = liftLists(bytes);
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return { fields: asObject(parseJson(bytes.toString("utf8"))), lists: new Map() };
  }
  return { fields: asObject(fields), lists };
}

function asObject(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw fault("the request is no JSON object");
  return value;
}

const deepest = 32;

/** Elements of nested JSON data in row-major order; lists of one depth must be of one length. */
function flatten(name: string, data: readonly unknown[]): unknown[] {
  const flat: unknown[] = [];
  const lengths: number[] = [];
  const walk = (list: readonly unknown[], depth: number): void => {
    if (depth >= deepest) throw fault(`input "${name}": "data" is nested deeper than ${deepest} lists`);
    lengths[depth] ??= list.length;
    if (list.length !== lengths[depth])
      throw fault(`input "${name}": "data" is ragged: a list of ${list.length} stands beside one of ${lengths[depth]}`);
    for (const value of list) {
      if (Array.isArray(value)) walk(value, depth + 1);
      else flat.push(value);
    }
  };
  walk(data, 0);
  return flat;
}

function dataOfList(name: string, datatype: DataType, count: number, data: unknown): Tensor["data"] {
  if (!Array.isArray(data)) throw fault(`input "${name}" has no "data" list and no "binary_data_size"`);
  const flat: unknown[] = Array.isArray(data[0]) ? flatten(name, data) : data;
  if (flat.length !== count) throw fault(`input "${name}" has ${flat.length} elements; its shape asks for ${count}`);
  const wrong = (at: number, expected: string): ClientFault =>
    fault(`input "${name}", element ${at} is ${JSON.stringify(flat[at])}; expected ${expected}`);
  if (datatype === "BYTES") {
    const at = flat.findIndex((value) => typeof value !== "string");
    if (at >= 0) throw wrong(at, "a text");
    return flat as string[];
  }
  if (datatype === "FP16") throw fault(`input "${name}" is FP16, which JSON cannot carry; send binary data`);
  if (datatype === "INT64" || datatype === "UINT64") {
    // JSON numbers beyond 2^53 have lost digits already; binary data keep them.
    const at = flat.findIndex((value) => !Number.isSafeInteger(value) || (datatype === "UINT64" && (value as number) < 0));
    if (at >= 0) throw wrong(at, `a whole number of ${datatype} below 2^53; send larger ones as binary data`);
    const wide = (flat as number[]).map(BigInt);
    return datatype === "INT64" ? BigInt64Array.from(wide) : BigUint64Array.from(wide);
  }
  const typed = zeros(datatype, count) as Float64Array;
  for (let at = 0; at < count; at++) {
    const value = flat[at];
    if (typeof value === "number") {
      typed[at] = value;
      // A whole-number type that does not give it back: a fraction, or out of range.
      if (typed[at] !== value && datatype !== "FP32" && datatype !== "FP64") throw wrong(at, `a whole number within ${datatype}`);
    } else if (typeof value === "boolean" && datatype === "BOOL") typed[at] = Number(value);
    else throw wrong(at, datatype === "BOOL" ? "true or false" : "a number");
  }
  return typed;
}

/** The elements of "data": a list that was lifted out of the text, or any other value. */
function dataOfJson(name: string, datatype: DataType, count: number, data: unknown, lists: Lifted["lists"]): Tensor["data"] {
  const lifted = typeof data === "string" ? lists.get(data) : undefined;
  if (!lifted) return dataOfList(name, datatype, count, data);
  return readNumbers(lifted, datatype, count) ?? dataOfList(name, datatype, count, parseJson(`[${lifted.toString("utf8")}`));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textsOfBytes(name: string, bytes: Uint8Array, count: number): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  let at = 0;
  while (at < bytes.byteLength) {
    const length = at + 4 <= bytes.byteLength ? view.getUint32(at, true) : Number.POSITIVE_INFINITY;
    if (at + 4 + length > bytes.byteLength) throw fault(`input "${name}": text ${texts.length} is longer than its bytes`);
    try {
      texts.push(utf8.decode(bytes.subarray(at + 4, at + 4 + length)));
    } catch {
      throw fault(`input "${name}": text ${texts.length} is no UTF-8`);
    }
    at += 4 + length;
  }
  if (texts.length !== count) throw fault(`input "${name}" has ${texts.length} texts; its shape asks for ${count}`);
  return texts;
}

/** What of a request lies outside its JSON values. */
interface Outside {
  lists: Lifted["lists"];
  bytes: Uint8Array;
  /** How many of the bytes belong to tensors so far. */
  at: number;
}

function tensorOf(wire: WireTensor, spec: TensorSpec, outside: Outside): Tensor {
  const { name } = spec;
  const { shape, datatype } = wire;
  if (!Array.isArray(shape) || !shape.every((size) => Number.isInteger(size) && (size as number) >= 0)) {
    throw fault(`input "${name}" has no "shape" of whole numbers`);
  }
  if (!(dataTypes as readonly unknown[]).includes(datatype))
    throw fault(`input "${name}" has datatype ${JSON.stringify(datatype)}; known are ${dataTypes.join(", ")}`);
  if (datatype !== spec.datatype) throw fault(`input "${name}" has datatype ${String(datatype)}; the model expects ${spec.datatype}`);
  const sizes = shape as number[];
  if (sizes.length !== spec.shape.length || sizes.some((size, axis) => spec.shape[axis] !== -1 && spec.shape[axis] !== size)) {
    throw fault(`input "${name}" has shape [${sizes.join(",")}]; the model expects [${spec.shape.join(",")}]`);
  }
  const count = elementCount(sizes);
  const size = wire.parameters?.binary_data_size;
  if (size === undefined)
    return { datatype: spec.datatype, shape: sizes, data: dataOfJson(name, spec.datatype, count, wire.data, outside.lists) };
  if (typeof size !== "number" || !Number.isInteger(size) || size < 0)
    throw fault(`input "${name}" has binary_data_size ${JSON.stringify(size)}; expected a number of bytes`);
  const bytes = outside.bytes.subarray(outside.at, outside.at + size);
  if (bytes.byteLength !== size) throw fault(`input "${name}" announces ${size} bytes; ${bytes.byteLength} are left in the body`);
  outside.at += size;
  if (spec.datatype === "BYTES") return { datatype: "BYTES", shape: sizes, data: textsOfBytes(name, bytes, count) };
  const expected = count * elementBytes(spec.datatype);
  if (size !== expected) throw fault(`input "${name}" announces ${bytes.byteLength} bytes; its shape asks for ${expected}`);
  return { datatype: spec.datatype, shape: sizes, data: dataOfBytes(spec.datatype, bytes) };
}

function outputsOf(head: Record<string, unknown>, model: ModelInterface): InferRequest["outputs"] {
  const all = isRecord(head["parameters"]) && head["parameters"]["binary_data_output"] === true;
  const asked = head["outputs"];
  if (asked === undefined || (Array.isArray(asked) && asked.length === 0)) return model.outputs.map(({ name }) => ({ name, binary: all }));
  if (!Array.isArray(asked)) throw fault('"outputs" is no list');
  return asked.map((output: unknown) => {
    const { name, parameters } = (isRecord(output) ? output : {}) as WireTensor;
    if (!model.outputs.some((spec) => spec.name === name)) {
      throw fault(`output ${JSON.stringify(name)} is unknown; the model has ${model.outputs.map((spec) => spec.name).join(", ")}`);
    }
    return { name: name as string, binary: typeof parameters?.binary_data === "boolean" ? parameters.binary_data : all };
  });
}

/**
 * Parses an inference request.
 * @param headerBytes the header Inference-Header-Content-Length: bytes of JSON before the tensors; null = all of it
 */
export function parseInfer(body: Uint8Array, headerBytes: number | null, model: ModelInterface): InferRequest {
  if (headerBytes !== null && (!Number.isInteger(headerBytes) || headerBytes < 0 || headerBytes > body.byteLength)) {
    throw fault(`Inference-Header-Content-Length is ${headerBytes}; the body has ${body.byteLength} bytes`);
  }
  const jsonBytes = headerBytes === null ? body : body.subarray(0, headerBytes);
  const { fields: head, lists } = parseHead(Buffer.from(jsonBytes.buffer, jsonBytes.byteOffset, jsonBytes.byteLength));
  if (!Array.isArray(head["inputs"])) throw fault('the request has no list "inputs"');
  const outside: Outside = { lists, bytes: headerBytes === null ? new Uint8Array() : body.subarray(headerBytes), at: 0 };
  const inputs = new Map<string, Tensor>();
  for (const wire of head["inputs"] as unknown[]) {
    if (!isRecord(wire)) throw fault('an entry of "inputs" is no object');
    const spec = model.inputs.find(({ name }) => name === wire["name"]);
    if (!spec)
      throw fault(`input ${JSON.stringify(wire["name"])} is unknown; the model has ${model.inputs.map(({ name }) => name).join(", ")}`);
    if (inputs.has(spec.name)) throw fault(`input "${spec.name}" comes twice`);
    inputs.set(spec.name, tensorOf(wire as WireTensor, spec, outside));
  }
  const missing = model.inputs.find(({ name }) => !inputs.has(name));
  if (missing) throw fault(`input "${missing.name}" is missing`);
  if (outside.at !== outside.bytes.byteLength) throw fault(`${outside.bytes.byteLength - outside.at} bytes of the body belong to no input`);
  const { id } = head;
  if (id !== undefined && typeof id !== "string") throw fault('"id" is no text');
  const batched = model.inputs.filter((spec) => spec.shape[0] === -1).map(({ name }) => inputs.get(name)!.shape[0]!);
  const items = batched[0] ?? 1;
  if (batched.some((size) => size !== items)) throw fault("the inputs differ in their first size");
  if (items === 0) throw fault("the first size is 0: no item to answer");
  return { id: id ?? null, inputs, outputs: outputsOf(head, model), items };
}

/** The elements as JSON text; what JSON has no word for becomes null. Wide whole numbers keep every digit. */
function jsonData({ datatype, data }: Tensor): string {
  if (datatype === "BOOL") return JSON.stringify(Array.from(data as Uint8Array, Boolean));
  if (datatype === "INT64" || datatype === "UINT64") return `[${(data as BigInt64Array).join(",")}]`;
  return JSON.stringify(Array.isArray(data) ? data : Array.from(data as Float32Array));
}

export interface Encoded {
  /** Bytes of JSON before the tensors; null when all is JSON. */
  headerBytes: number | null;
  body: string | Uint8Array;
}

/** Encodes the answer. An FP16 output asked as JSON is refused: JSON cannot carry it. */
export function encodeAnswer(model: ModelInterface, request: InferRequest, outputs: ReadonlyMap<string, Tensor>): Encoded {
  const pieces: Uint8Array[] = [];
  const said = request.outputs.map(({ name, binary }) => {
    const tensor = outputs.get(name)!;
    const head = `{"name":${JSON.stringify(name)},"datatype":"${tensor.datatype}","shape":[${tensor.shape.join(",")}],`;
    if (!binary) {
      if (tensor.datatype === "FP16") throw fault(`output "${name}" is FP16, which JSON cannot carry; ask for binary data`);
      return `${head}"data":${jsonData(tensor)}}`;
    }
    const bytes = bytesOfData(tensor.data);
    pieces.push(bytes);
    return `${head}"parameters":{"binary_data_size":${bytes.byteLength}}}`;
  });
  const id = request.id === null ? "" : `"id":${JSON.stringify(request.id)},`;
  const text = `{"model_name":${JSON.stringify(model.name)},"model_version":"1",${id}"outputs":[${said.join(",")}]}`;
  if (pieces.length === 0) return { headerBytes: null, body: text };
  const head = Buffer.from(text);
  return { headerBytes: head.byteLength, body: Buffer.concat([head, ...pieces]) };
}
