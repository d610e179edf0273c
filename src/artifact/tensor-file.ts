/**
 * Named tensors in one file, to hand data to another process without parsing them twice. Layout:
 * the eight bytes `ASSAYTF1`, a u32 with the length of the header, the header as JSON
 * (`{tensors: [{name, datatype, shape, bytes}]}`), zeros up to a multiple of 8, then each tensor's
 * little-endian elements, each padded to a multiple of 8. Texts are a u32 length and UTF-8 each.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { AssayError } from "../base/index.ts";
import { writeWhole } from "../host/index.ts";
import { bytesOfData, dataOfBytes, dataTypes, elementBytes, elementCount, type Tensor } from "../tensor/index.ts";

const magic = Buffer.from("ASSAYTF1");
const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

const Header = z.strictObject({
  tensors: z.array(
    z.strictObject({
      name: z.string(),
      datatype: z.enum(dataTypes),
      shape: z.array(z.int().nonnegative()),
      bytes: z.int().nonnegative(),
    }),
  ),
});

export type NamedTensors = Readonly<Record<string, Tensor>>;

/** Writes the tensors as one whole file; throws the system's own fault (ENOSPC). */
export function writeTensors(path: string, tensors: NamedTensors): void {
  const parts = Object.entries(tensors).map(([name, tensor]) => ({ name, tensor, data: bytesOfData(tensor.data) }));
  const header = Buffer.from(
    JSON.stringify({
      tensors: parts.map(({ name, tensor, data }) => ({ name, datatype: tensor.datatype, shape: tensor.shape, bytes: data.byteLength })),
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.byteLength);
  const head = Buffer.concat([magic, length, header]);
  const pieces: Uint8Array[] = [head, Buffer.alloc(padded(head.byteLength) - head.byteLength)];
  for (const { data } of parts) pieces.push(data, Buffer.alloc(padded(data.byteLength) - data.byteLength));
  writeWhole(path, Buffer.concat(pieces));
}

const bad = (path: string, what: string, cause?: unknown): AssayError =>
  new AssayError("DATA_UNREADABLE", `${path}: ${what}; expected a file of tensors written by Assay`, { cause });

function textsOf(bytes: Uint8Array, path: string): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let at = 0; at < bytes.byteLength;) {
    if (at + 4 > bytes.byteLength || at + 4 + view.getUint32(at, true) > bytes.byteLength) throw bad(path, "a text is cut short");
    const size = view.getUint32(at, true);
    texts.push(new TextDecoder().decode(bytes.subarray(at + 4, at + 4 + size)));
    at += 4 + size;
  }
  return texts;
}

/** The tensors of a file written by `writeTensors`, by name. Throws DATA_UNREADABLE for anything else. */
export function readTensors(path: string): Record<string, Tensor> {
  let file: Buffer;
  try {
    file = readFileSync(path);
  } catch (cause) {
    throw bad(path, "cannot be read", cause);
  }
  if (file.byteLength < 12 || !file.subarray(0, 8).equals(magic)) throw bad(path, "does not begin with ASSAYTF1");
  const headerEnd = 12 + file.readUInt32LE(8);
  let header: z.infer<typeof Header>;
  try {
    header = Header.parse(JSON.parse(file.toString("utf8", 12, headerEnd)));
  } catch (cause) {
    throw bad(path, "its header is damaged", cause);
  }
  let at = padded(headerEnd);
  const tensors: Record<string, Tensor> = {};
  for (const { name, datatype, shape, bytes } of header.tensors) {
    if (at + bytes > file.byteLength) throw bad(path, `tensor "${name}" ends at byte ${at + bytes} of ${file.byteLength}`);
    const raw = file.subarray(at, at + bytes);
    const data = elementBytes(datatype) === 0 ? textsOf(raw, path) : dataOfBytes(datatype, raw);
    if (data.length !== elementCount(shape))
      throw bad(path, `tensor "${name}" has ${data.length} elements for shape [${shape.join(", ")}]`);
    tensors[name] = { datatype, shape, data };
    at += padded(bytes);
  }
  return tensors;
}

/** Writes items in groups of equal shape, in one file: tensor `x` of group 2 is named `2/x`. */
export const writeGroups = (path: string, groups: readonly ReadonlyMap<string, Tensor>[]): void =>
  writeTensors(
    path,
    Object.fromEntries(groups.flatMap((group, g) => [...group].map(([name, tensor]) => [`${g}/${name}`, tensor] as const))),
  );

/** Reads what `writeGroups` wrote. Throws DATA_UNREADABLE. */
export function readGroups(path: string): NamedTensors[] {
  const groups: Record<string, Tensor>[] = [];
  for (const [name, tensor] of Object.entries(readTensors(path))) {
    const [, group, own] = /^(\d+)\/(.*)$/s.exec(name) ?? [];
    if (own === undefined) throw bad(path, `tensor "${name}" belongs to no group`);
    (groups[Number(group)] ??= {})[own] = tensor;
  }
  return groups;
}
