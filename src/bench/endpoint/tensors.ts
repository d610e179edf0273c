/** Tensors for a server of the Open Inference Protocol: out of a data file, or drawn in the shapes that the model tells. */
import { z } from "zod";
import { AssayError, randomStream, type RandomStream } from "../../base/index.ts";
import { plainInput, readColumns, stackInputs } from "../../data/index.ts";
import { encodeInfer, type EncodedRequest, type Speech } from "../../load/index.ts";
import { dataTypes, elementCount, zeros, type DataType, type Tensor, type TensorSpec } from "../../tensor/index.ts";
import { askOnce, type Caller, type CallerBase } from "./caller.ts";
import { placeOf } from "./place.ts";
import type { OipEndpoint } from "./question.ts";

const pool = 256;

const specSchema = z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.union([z.number(), z.string()])) });
const metadataSchema = z.object({ inputs: z.array(specSchema).min(1), outputs: z.array(z.object({ name: z.string() })).default([]) });

interface ModelInterface {
  inputs: TensorSpec[];
  outputs: string[];
}

/** What the model takes, by its own metadata. Throws ENDPOINT_REFUSES. */
async function interfaceOf(url: string, model: string, headers: Record<string, string>, signal: AbortSignal): Promise<ModelInterface> {
  const bad = (what: string): AssayError => new AssayError("ENDPOINT_REFUSES", `${url}: the metadata of model ${model}: ${what}`);
  let answer: Response;
  try {
    answer = await fetch(`${url.replace(/\/+$/, "")}/v2/models/${encodeURIComponent(model)}`, { headers, signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw new AssayError("ENDPOINT_REFUSES", `${url}: no answer (${String((cause as Error).cause ?? cause)})`, { cause });
  }
  const text = await answer.text();
  if (!answer.ok) throw bad(`HTTP ${answer.status}: ${text.slice(0, 200)}`);
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw bad("no JSON");
  }
  const found = metadataSchema.safeParse(said);
  if (!found.success) throw bad(z.prettifyError(found.error).slice(0, 300));
  const inputs = found.data.inputs.map(({ name, datatype, shape }): TensorSpec => {
    if (!(dataTypes as readonly string[]).includes(datatype)) throw bad(`input ${name} has datatype ${datatype}`);
    return { name, datatype: datatype as DataType, shape: shape.map(Number) };
  });
  return { inputs, outputs: found.data.outputs.map(({ name }) => name) };
}

/** A tensor of that shape, free sizes as 1 and the first as the items. */
function drawTensor({ datatype, shape }: TensorSpec, items: number, stream: Pick<RandomStream, "uniform">): Tensor {
  const whole = shape.map((size, axis) => (axis === 0 && size < 0 ? items : size < 0 ? 1 : size));
  const count = elementCount(whole);
  if (datatype === "BYTES") return { datatype, shape: whole, data: Array.from({ length: count }, () => "text") };
  const data = zeros(datatype, count);
  const real = datatype.startsWith("FP");
  for (let k = 0; k < count; k++) {
    const value = real ? stream.uniform() : Math.floor(2 * stream.uniform());
    (data as Float64Array)[k] = (data instanceof BigInt64Array || data instanceof BigUint64Array ? BigInt(value) : value) as number;
  }
  return { datatype, shape: whole, data };
}

/** Asks the model what it takes, sends one request, and makes ready. Throws ENDPOINT_REFUSES, DATA_MISFIT, DATA_UNREADABLE. */
export async function callWithTensors(
  endpoint: OipEndpoint,
  dataPath: string | null,
  key: string | null,
  base: CallerBase,
  signal: AbortSignal,
): Promise<Caller> {
  const { url, model, data, itemsPerRequest, binary } = endpoint;
  const place = placeOf(url);
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` };
  const { inputs, outputs } = await interfaceOf(url, model, headers, signal);
  const encode = (tensors: ReadonlyMap<string, Tensor>): EncodedRequest => ({
    bytes: encodeInfer({ ...place, model, inputs: [...tensors].map(([name, tensor]) => ({ name, tensor })), outputs, binary, headers }),
    uniqueAt: undefined,
  });
  const columns = dataPath === null ? null : await readColumns(dataPath);
  const prepared = columns && inputs.map((spec) => plainInput(spec, columns, inputs.length === 1, data!));
  const requests = (seed: string): EncodedRequest[] => {
    const stream = randomStream(seed, "tensors");
    if (!columns || !prepared)
      return Array.from({ length: pool }, () =>
        encode(new Map(inputs.map((spec) => [spec.name, drawTensor(spec, itemsPerRequest, stream)]))),
      );
    const order = stream.shuffled(Array.from({ length: columns.count }, (_, item) => item));
    const count = Math.max(1, Math.min(pool * 16, Math.floor(columns.count / itemsPerRequest)));
    return Array.from({ length: count }, (_, k) =>
      encode(
        stackInputs(
          prepared,
          Array.from({ length: itemsPerRequest }, (__, i) => order[(k * itemsPerRequest + i) % order.length]!),
        ),
      ),
    );
  };
  const speech: Speech = { protocol: "oip", outputs };
  try {
    await askOnce(url, base, speech, requests(base.seed)[0]!, signal);
  } catch (refusal) {
    if (!binary) throw refusal;
    // It may take JSON only; then that is what to say.
    const asJson = await callWithTensors({ ...endpoint, binary: false }, dataPath, key, base, signal).then(
      () => true,
      () => false,
    );
    if (!asJson) throw refusal;
    throw new AssayError("ENDPOINT_REFUSES", `${url}: it refuses tensors as bytes and takes them as JSON: add --json-tensors`, {
      cause: refusal,
    });
  }
  return { speech, requests };
}
