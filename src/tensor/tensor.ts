/**
 * A tensor as every room passes it: element type by its Open Inference Protocol name, shape, and
 * row-major elements. One table relates the names that ONNX, numpy and the protocol give one type.
 */
import { AssayError } from "../base/index.ts";

export type TensorData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | string[];

interface ElementRow {
  /** Open Inference Protocol v2. */
  oip: string;
  /** `onnx.TensorProto.DataType`. */
  onnx: number;
  /** onnxruntime's JavaScript name. */
  ort: string;
  /** numpy's type text without byte order, where it has one. */
  numpy: string | null;
  /** Bytes an element; 0 for texts. */
  bytes: number;
  make: ((buffer: ArrayBuffer) => TensorData) | null;
}

const rows = [
  { oip: "FP32", onnx: 1, ort: "float32", numpy: "f4", bytes: 4, make: (b: ArrayBuffer) => new Float32Array(b) },
  { oip: "UINT8", onnx: 2, ort: "uint8", numpy: "u1", bytes: 1, make: (b: ArrayBuffer) => new Uint8Array(b) },
  { oip: "INT8", onnx: 3, ort: "int8", numpy: "i1", bytes: 1, make: (b: ArrayBuffer) => new Int8Array(b) },
  { oip: "UINT16", onnx: 4, ort: "uint16", numpy: "u2", bytes: 2, make: (b: ArrayBuffer) => new Uint16Array(b) },
  { oip: "INT16", onnx: 5, ort: "int16", numpy: "i2", bytes: 2, make: (b: ArrayBuffer) => new Int16Array(b) },
  { oip: "INT32", onnx: 6, ort: "int32", numpy: "i4", bytes: 4, make: (b: ArrayBuffer) => new Int32Array(b) },
  { oip: "INT64", onnx: 7, ort: "int64", numpy: "i8", bytes: 8, make: (b: ArrayBuffer) => new BigInt64Array(b) },
  { oip: "BYTES", onnx: 8, ort: "string", numpy: null, bytes: 0, make: null },
  { oip: "BOOL", onnx: 9, ort: "bool", numpy: "b1", bytes: 1, make: (b: ArrayBuffer) => new Uint8Array(b) },
  /** Half floats travel as their bit patterns. */
  { oip: "FP16", onnx: 10, ort: "float16", numpy: "f2", bytes: 2, make: (b: ArrayBuffer) => new Uint16Array(b) },
  { oip: "FP64", onnx: 11, ort: "float64", numpy: "f8", bytes: 8, make: (b: ArrayBuffer) => new Float64Array(b) },
  { oip: "UINT32", onnx: 12, ort: "uint32", numpy: "u4", bytes: 4, make: (b: ArrayBuffer) => new Uint32Array(b) },
  { oip: "UINT64", onnx: 13, ort: "uint64", numpy: "u8", bytes: 8, make: (b: ArrayBuffer) => new BigUint64Array(b) },
] as const satisfies readonly ElementRow[];

export type DataType = (typeof rows)[number]["oip"];

export const dataTypes: readonly DataType[] = rows.map((row) => row.oip);

export interface Tensor {
  datatype: DataType;
  /** Sizes, outermost first. */
  shape: readonly number[];
  /** Row-major; as many elements as the product of the shape. */
  data: TensorData;
}

/** One input or output of a model. A size that is free is −1; the first may be free, the batch. */
export interface TensorSpec {
  name: string;
  datatype: DataType;
  shape: readonly number[];
}

const by = (column: "oip" | "onnx" | "ort" | "numpy"): ReadonlyMap<unknown, ElementRow> => new Map(rows.map((row) => [row[column], row]));
const byOip = by("oip");
const byOnnx = by("onnx");
const byOrt = by("ort");
const byNumpy = by("numpy");

const row = (datatype: DataType): ElementRow => byOip.get(datatype)!;

/** The type of that ONNX number, onnxruntime name or numpy text; undefined when we do not carry it. */
export const dataTypeOfOnnx = (onnx: number): DataType | undefined => byOnnx.get(onnx)?.oip as DataType | undefined;
export const dataTypeOfOrt = (name: string): DataType | undefined => byOrt.get(name)?.oip as DataType | undefined;
export const dataTypeOfNumpy = (text: string): DataType | undefined => byNumpy.get(text)?.oip as DataType | undefined;
export const ortNameOf = (datatype: DataType): string => row(datatype).ort;

/** Bytes an element of that type takes; 0 for texts. */
export const elementBytes = (datatype: DataType): number => row(datatype).bytes;

/** The product of the sizes; 1 for a scalar. */
export const elementCount = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** A typed array of that many zeros. Texts have none. */
export function zeros(datatype: DataType, count: number): Exclude<TensorData, string[]> {
  const { make, bytes: size } = row(datatype);
  if (!make) throw new AssayError("INTERNAL", "texts have no fixed-size bytes");
  return make(new ArrayBuffer(count * size)) as Exclude<TensorData, string[]>;
}

/** A typed array over a copy of little-endian bytes. */
export function dataOfBytes(datatype: DataType, bytes: Uint8Array): TensorData {
  const size = elementBytes(datatype);
  if (bytes.byteLength % size !== 0)
    throw new AssayError("DATA_MISFIT", `${bytes.byteLength} bytes are no whole number of ${datatype} elements`);
  const data = zeros(datatype, bytes.byteLength / size);
  new Uint8Array(data.buffer).set(bytes);
  return data;
}

/** The bytes under a tensor's typed array, little-endian; texts as u32 length + UTF-8 each (the protocol's BYTES). */
export function bytesOfData(data: TensorData): Uint8Array {
  if (!Array.isArray(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const encoder = new TextEncoder();
  const texts = data.map((text) => encoder.encode(text));
  const out = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.byteLength, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.byteLength, true);
    out.set(text, at + 4);
    at += 4 + text.byteLength;
  }
  return out;
}

/** Joins tensors of one type and equal inner shape along the first dimension. */
export function concatBatch(tensors: readonly Tensor[]): Tensor {
  const [first] = tensors;
  if (!first) throw new AssayError("INTERNAL", "no tensor to join");
  if (tensors.length === 1) return first;
  const shape = [tensors.reduce((sum, tensor) => sum + (tensor.shape[0] ?? 1), 0), ...first.shape.slice(1)];
  if (Array.isArray(first.data)) return { datatype: first.datatype, shape, data: tensors.flatMap((tensor) => tensor.data as string[]) };
  const size = elementBytes(first.datatype);
  const joined = new Uint8Array(elementCount(shape) * size);
  let at = 0;
  for (const tensor of tensors) {
    const bytes = bytesOfData(tensor.data);
    joined.set(bytes, at);
    at += bytes.byteLength;
  }
  return { datatype: first.datatype, shape, data: row(first.datatype).make!(joined.buffer) };
}

/** Rows `from` (inclusive) to `to` (exclusive) of the first dimension, as a copy. */
export function sliceBatch(tensor: Tensor, from: number, to: number): Tensor {
  const inner = elementCount(tensor.shape.slice(1));
  return {
    datatype: tensor.datatype,
    shape: [to - from, ...tensor.shape.slice(1)],
    data: tensor.data.slice(from * inner, to * inner) as TensorData,
  };
}
