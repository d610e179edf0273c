/** numpy's files: .npy arrays and .npz archives of them. Fortran order is turned into row-major. */
import { unzipSync } from "fflate";
import { AssayError } from "../base/index.ts";
import { dataOfBytes, dataTypeOfNumpy, elementBytes, elementCount } from "../tensor/index.ts";
import type { Column, Columns, NumberColumn } from "./columns.ts";

const bad = (where: string, what: string): AssayError => new AssayError("DATA_UNREADABLE", `${where}: ${what}`);

function rowMajor(data: NumberColumn["data"], shape: readonly number[]): NumberColumn["data"] {
  const out = (data as Float64Array).slice();
  const strides = shape.map((_, axis) => elementCount(shape.slice(0, axis)));
  const index = shape.map(() => 0);
  for (let i = 0; i < out.length; i++) {
    out[i] = (data as Float64Array)[index.reduce((sum, at, axis) => sum + at * strides[axis]!, 0)]!;
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis]! === shape[axis]; axis--) index[axis] = 0;
  }
  return out;
}

/** Parses one .npy array; its first size is the items. Format: NEP 1, versions 1 to 3. */
export function parseNpy(bytes: Uint8Array, where: string): { count: number; column: Column } {
  if (bytes.byteLength < 12 || bytes[0] !== 0x93 || Buffer.from(bytes.subarray(1, 6)).toString("latin1") !== "NUMPY")
    throw bad(where, "it is no .npy array");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6]! >= 2;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (wide ? 12 : 10) + length;
  const header = Buffer.from(bytes.subarray(wide ? 12 : 10, start)).toString("utf8");
  const descr = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const shapeText = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (descr === undefined || shapeText === undefined)
    throw bad(where, "its header names no plain type and shape; structured arrays are not read");
  const shape = shapeText
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map(Number);
  if (shape.length === 0) throw bad(where, "it is a single value; the first size must be the items");
  const [count, inner] = [shape[0]!, shape.slice(1)];
  const order = descr[0]!;
  if (order === ">") throw bad(where, `type ${descr} is big-endian; save it little-endian`);
  const body = bytes.subarray(start);
  if (descr[1] === "U" || descr[1] === "S") {
    const width = Number(descr.slice(2)) * (descr[1] === "U" ? 4 : 1);
    if (inner.length > 0) throw bad(where, "texts of more than one dimension are not read");
    if (body.byteLength < count * width) throw bad(where, `it has ${body.byteLength} bytes of texts; ${count * width} are expected`);
    const text = (i: number): string => {
      const part = body.subarray(i * width, (i + 1) * width);
      if (descr[1] === "S") return Buffer.from(part).toString("utf8").replace(/\0+$/, "");
      const points = new DataView(part.buffer, part.byteOffset, part.byteLength);
      let out = "";
      for (let k = 0; k < width; k += 4) {
        const point = points.getUint32(k, true);
        if (point !== 0) out += String.fromCodePoint(point);
      }
      return out;
    };
    return { count, column: { kind: "texts", data: Array.from({ length: count }, (_, i) => text(i)) } };
  }
  const source = descr.slice(1);
  const datatype = dataTypeOfNumpy(source);
  if (!datatype || datatype === "FP16") throw bad(where, `type ${descr} is not read; save float32, float64, an integer, bool or text`);
  const size = elementCount(shape) * elementBytes(datatype);
  if (body.byteLength < size) throw bad(where, `it has ${body.byteLength} bytes of data; its shape asks for ${size}`);
  const data = dataOfBytes(datatype, body.subarray(0, size)) as NumberColumn["data"];
  const fortran = /'fortran_order':\s*True/.test(header) && shape.length > 1;
  return { count, column: { kind: "numbers", source, data: fortran ? rowMajor(data, shape) : data, shape: inner } };
}

/** Parses an .npz archive; every array must have as many items as the others. */
export function parseNpz(bytes: Uint8Array, where: string): Columns {
  let files: Record<string, Uint8Array>;
  try {
    files = unzipSync(bytes);
  } catch (cause) {
    throw new AssayError("DATA_UNREADABLE", `${where}: it is no .npz archive, or is damaged: ${(cause as Error).message}`, { cause });
  }
  const columns = new Map<string, Column>();
  let count: number | null = null;
  for (const [name, file] of Object.entries(files)) {
    if (!name.endsWith(".npy")) continue;
    const field = name.slice(0, -4);
    const parsed = parseNpy(file, `${where}, array ${field}`);
    count ??= parsed.count;
    if (parsed.count !== count)
      throw new AssayError("DATA_MISFIT", `${where}: array ${field} has ${parsed.count} items; the others have ${count}`);
    columns.set(field, parsed.column);
  }
  if (count === null) throw bad(where, "it holds no array");
  return { count, columns };
}
