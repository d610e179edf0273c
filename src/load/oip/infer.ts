/** Open Inference Protocol v2 from the client's side: a complete request, and what an answer is worth. */
import { AssayError } from "../../base/index.ts";
import { bytesOfData, dataOfBytes, dataTypes, elementBytes, elementCount, zeros, type DataType, type Tensor } from "../../tensor/index.ts";
import { encodeRequest } from "../http/request.ts";
import type { OutcomeClass } from "../records.ts";

export interface InferCall {
  host: string;
  port: number;
  /** Path of the base URL, without a slash at its end; absent = none. */
  path?: string;
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
  model: string;
  inputs: readonly { name: string; tensor: Tensor }[];
  /** Outputs asked for. */
  outputs: readonly string[];
  /** Tensors as bytes behind the JSON, both ways; else all as JSON. */
  binary: boolean;
}

const jsonNumbers = ({ datatype, data }: Tensor): unknown[] =>
  Array.isArray(data)
    ? data
    : Array.from(data as ArrayLike<number | bigint>, (value) => (datatype === "BOOL" ? Boolean(value) : Number(value)));

/** The whole HTTP/1.1 request, ready to be written to a socket. */
export function encodeInfer({ host, port, path = "", headers = {}, model, inputs, outputs, binary }: InferCall): Uint8Array {
  const pieces: Uint8Array[] = [];
  const said = inputs.map(({ name, tensor }) => {
    const { datatype, shape } = tensor;
    if (!binary) return { name, datatype, shape, data: jsonNumbers(tensor) };
    const bytes = bytesOfData(tensor.data);
    pieces.push(bytes);
    return { name, datatype, shape, parameters: { binary_data_size: bytes.byteLength } };
  });
  const asked = outputs.map((name) => ({ name, ...(binary && { parameters: { binary_data: true } }) }));
  const json = Buffer.from(JSON.stringify({ inputs: said, outputs: asked }));
  const body = Buffer.concat([json, ...pieces]);
  const kind: Record<string, string> = binary
    ? { "Content-Type": "application/octet-stream", "Inference-Header-Content-Length": String(json.byteLength) }
    : { "Content-Type": "application/json" };
  return encodeRequest("POST", { host, port, path }, `/v2/models/${encodeURIComponent(model)}/infer`, { ...kind, ...headers }, body).bytes;
}

interface WireOutput {
  name: string;
  datatype: string;
  shape: number[];
  data?: unknown[];
  parameters?: { binary_data_size?: number };
}

function outputsOf(headerBytes: number | null, body: Uint8Array): WireOutput[] {
  const text = Buffer.from(body.buffer, body.byteOffset, headerBytes ?? body.byteLength).toString("utf8");
  const { outputs } = JSON.parse(text) as { outputs?: WireOutput[] };
  if (!Array.isArray(outputs)) throw new AssayError("LOAD_FAILED", "the answer has no outputs");
  return outputs;
}

/** The tensors of a 200 answer by name. Throws LOAD_FAILED, naming what is missing or does not fit. */
export function decodeInfer(headerBytes: number | null, body: Uint8Array): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  let at = headerBytes ?? body.byteLength;
  for (const { name, datatype, shape, data, parameters } of outputsOf(headerBytes, body)) {
    const bad = (what: string): AssayError => new AssayError("LOAD_FAILED", `output "${name}" ${what}`);
    if (!(dataTypes as readonly string[]).includes(datatype)) throw bad(`has datatype ${datatype}`);
    const type = datatype as DataType;
    const count = elementCount(shape);
    const size = parameters?.binary_data_size;
    if (size === undefined) {
      if (!Array.isArray(data) || data.length !== count) throw bad(`has ${data?.length ?? 0} elements; its shape asks for ${count}`);
      if (type === "BYTES") tensors.set(name, { datatype: type, shape, data: data as string[] });
      else {
        const typed = zeros(type, count);
        const wide = type === "INT64" || type === "UINT64";
        data.forEach((value, i) => ((typed as Float64Array)[i] = (wide ? BigInt(value as number) : (value ?? Number.NaN)) as number));
        tensors.set(name, { datatype: type, shape, data: typed });
      }
      continue;
    }
    const bytes = body.subarray(at, at + size);
    at += size;
    if (bytes.byteLength !== size) throw bad(`announces ${size} bytes; ${bytes.byteLength} came`);
    if (type === "BYTES") tensors.set(name, { datatype: type, shape, data: textsOf(bytes) });
    else if (size !== count * elementBytes(type)) throw bad(`has ${size} bytes; its shape asks for ${count * elementBytes(type)}`);
    else tensors.set(name, { datatype: type, shape, data: dataOfBytes(type, bytes) });
  }
  return tensors;
}

function textsOf(bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let at = 0; at + 4 <= bytes.byteLength;) {
    const length = view.getUint32(at, true);
    texts.push(new TextDecoder().decode(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return texts;
}

const mostKnown = 64;

/**
 * Says what an answer is worth: good when every asked output is there with the bytes it announces (null = any 200 is good).
 * A JSON head that was found right before is known again by its bytes, so that most answers cost a look-up.
 */
export function createJudge(
  asked: readonly string[] | null,
): (status: number, headerBytes: number | null, body: Uint8Array) => OutcomeClass {
  const known = new Map<string, number>();
  return (status, headerBytes, body) => {
    if (status === 429 || status === 503) return "throttled";
    if (status !== 200) return "http_error";
    if (asked === null) return "good";
    if (headerBytes === null) return complete(null, body, asked) === null ? "protocol_error" : "good";
    if (!(headerBytes <= body.byteLength)) return "protocol_error";
    const head = Buffer.from(body.buffer, body.byteOffset, headerBytes).toString("latin1");
    let tail = known.get(head);
    if (tail === undefined) {
      const found = complete(headerBytes, body, asked);
      if (found === null) return "protocol_error";
      tail = found;
      if (known.size < mostKnown) known.set(head, tail);
    }
    return body.byteLength - headerBytes === tail ? "good" : "protocol_error";
  };
}

/** Bytes of binary tensors that the head announces; null when an asked output is missing or does not fit. */
function complete(headerBytes: number | null, body: Uint8Array, asked: readonly string[]): number | null {
  try {
    const tensors = decodeInfer(headerBytes, body);
    if (!asked.every((name) => tensors.has(name))) return null;
    return headerBytes === null
      ? 0
      : outputsOf(headerBytes, body).reduce((sum, output) => sum + (output.parameters?.binary_data_size ?? 0), 0);
  } catch {
    return null;
  }
}
