/** How the data become a model's inputs: element type, shape, scale, pixels, and buckets for items of different size. */
import { AssayError } from "../base/index.ts";
import { elementCount, zeros, type DataType, type Tensor, type TensorSpec } from "../tensor/index.ts";
import type { Workload } from "../workload/index.ts";
import type { Column, Columns, NumberColumn } from "./columns.ts";
import { decodeImages, imageShape, writePixels } from "./images.ts";
import type { Picture } from "./resample.ts";

const wanted: Record<string, DataType> = {
  float32: "FP32",
  float64: "FP64",
  int64: "INT64",
  int32: "INT32",
  uint8: "UINT8",
  bool: "BOOL",
  string: "BYTES",
};
export const misfit = (what: string): AssayError => new AssayError("DATA_MISFIT", what);

export type InputPlan = Workload["data"]["inputs"][string];
/** A column as a model's input is made from it: images are decoded. */
export type Source = Column | { kind: "images"; data: ReadonlyMap<number, Picture> };

/** Number columns side by side as one. */
export function columnOf({ count, columns }: Columns, field: InputPlan["field"], where: string): Column {
  const names = [...columns.keys()];
  const one = (name: string): Column => {
    const found = columns.get(name);
    if (!found)
      throw misfit(
        `${where}: the data have no field "${name}"; they have ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}`,
      );
    return found;
  };
  const pattern =
    typeof field === "string" && field.includes("*") && !columns.has(field)
      ? new RegExp(
          `^${field
            .split("*")
            .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
            .join(".*")}$`,
        )
      : null;
  const list = pattern ? names.filter((name) => pattern.test(name)) : field;
  if (typeof list === "string") return one(list);
  if (list.length === 0) throw misfit(`${where}: no field of the data matches ${String(field)}`);
  const parts = list.map((name) => {
    const part = one(name);
    if (part.kind !== "numbers" || part.shape.length > 0)
      throw misfit(
        `${where}: field "${name}" holds ${part.kind === "texts" ? `texts (item 1 is "${part.data[0]}")` : "lists"}; columns side by side must be numbers`,
      );
    return part;
  });
  const data = new Float64Array(count * parts.length);
  parts.forEach((part, k) => {
    for (let i = 0; i < count; i++) data[i * parts.length + k] = Number(part.data[i]);
  });
  return { kind: "numbers", source: "f8", data, shape: [parts.length] };
}

/** Decodes the images of those items where the plan says that the texts are paths. */
export async function sourceOf(
  column: Column,
  plan: InputPlan,
  where: string,
  items: readonly number[],
  open: (path: string) => string,
): Promise<Source> {
  if (!plan.image) return column;
  if (column.kind !== "texts") throw misfit(`${where}: field "${String(plan.field)}" holds numbers; image needs the paths of images`);
  const widest = plan.image.width === undefined ? Math.max(...plan.buckets!) : null;
  return { kind: "images", data: await decodeImages(column.data, items, { plan: plan.image, widest, open }) };
}

export interface ModelInput {
  name: string;
  datatype: DataType;
  batched: boolean;
  /** Shape of one item, without the batch. */
  shapeOf: (item: number) => readonly number[];
  /** Writes an item into that shape or a larger one. */
  fill: (item: number, out: Tensor["data"], at: number, shape: readonly number[]) => void;
}

const fits = (shape: readonly number[], expected: readonly number[]): boolean =>
  shape.length === expected.length && expected.every((size, axis) => size === -1 || size === shape[axis]);

const shown = (shape: readonly number[]): string => `[${shape.map((size) => (size === -1 ? "free" : size)).join()}]`;

/** Checks that a model's input can be made from a column. Throws DATA_MISFIT, MODEL_DIMENSION_UNBOUND. */
export function prepareInput(spec: TensorSpec, plan: InputPlan, source: Source, where: string): ModelInput {
  const datatype = wanted[plan.as]!;
  const field = String(plan.field);
  if (datatype !== spec.datatype)
    throw misfit(`${where}: data.inputs.${spec.name}.as gives ${datatype}; the model expects ${spec.datatype}`);
  const batched = spec.shape[0] === -1;
  const shape = batched ? spec.shape.slice(1) : spec.shape;
  const free = shape.indexOf(-1);
  const head = { name: spec.name, datatype, batched };
  const needsBuckets = (what: string): AssayError => misfit(`${where}: ${what}; give data.inputs.${spec.name}.buckets`);
  const unused = plan.buckets && (source.kind === "numbers" || (source.kind === "images" && plan.image?.width !== undefined));
  if (unused) throw misfit(`${where}: data.inputs.${spec.name}.buckets: every item of field "${field}" has the same size`);

  /** The smallest bucket that holds that size. */
  const bucketOf = (size: number, item: number): number => {
    const bucket = plan.buckets!.reduce((best, one) => (one >= size && one < best ? one : best), Number.POSITIVE_INFINITY);
    if (bucket === Number.POSITIVE_INFINITY)
      throw misfit(
        `${where}: item ${item + 1} of field "${field}" has ${size} values; the largest of data.inputs.${spec.name}.buckets is ${Math.max(...plan.buckets!)}`,
      );
    return bucket;
  };
  const wide = datatype === "INT64";
  const put = (out: Tensor["data"], at: number, value: number): void => {
    if (wide) (out as BigInt64Array)[at] = BigInt(Math.round(value));
    else (out as Float64Array)[at] = value;
  };
  const padWith = (out: Tensor["data"], at: number, length: number): void => {
    if (plan.pad !== 0) for (let k = at; k < at + length; k++) put(out, k, plan.pad);
  };
  const scaled = (value: number, item: number): number => {
    const found = value * plan.scale + plan.offset;
    if (!Number.isFinite(found)) throw misfit(`${where}: item ${item + 1} of field "${field}" holds ${found}`);
    return found;
  };

  if (source.kind === "images") {
    const image = plan.image!;
    const { mean = [0], deviation = [1] } = image;
    const own = imageShape(image.height, image.width ?? -1, image);
    if (
      !fits(
        own.map((size, axis) => (size === -1 ? (shape[axis] === -1 ? -1 : 0) : size)),
        shape,
      )
    )
      throw misfit(`${where}: data.inputs.${spec.name}.image gives ${shown(own)}; the model expects ${shown(shape)}`);
    const shapeOf = (item: number): number[] => {
      const { width } = source.data.get(item)!;
      return imageShape(image.height, image.width ?? bucketOf(width, item), image);
    };
    const of = (values: readonly number[], channel: number): number => values[values.length === 1 ? 0 : channel]!;
    return {
      ...head,
      shapeOf,
      fill: (item, out, at, whole) => {
        padWith(out, at, elementCount(whole));
        writePixels(source.data.get(item)!, image, whole, (k, value, channel) =>
          put(out, at + k, (scaled(value, item) - of(mean, channel)) / of(deviation, channel)),
        );
      },
    };
  }
  if (source.kind === "texts") {
    if (datatype !== "BYTES")
      throw misfit(`${where}: field "${field}" holds texts (item 1 is "${source.data[0]}"); the model expects ${spec.datatype}`);
    const one = shape.map((size) => (size === -1 ? 1 : size));
    if (elementCount(one) !== 1) throw misfit(`${where}: one text an item; the model expects ${shown(shape)}`);
    return { ...head, shapeOf: () => one, fill: (item, out, at) => void ((out as string[])[at] = source.data[item]!) };
  }
  if (datatype === "BYTES") throw misfit(`${where}: field "${field}" holds numbers; the model expects texts`);
  if (source.kind === "lists") {
    if (shape.length !== 1 || free !== 0)
      throw misfit(`${where}: items of field "${field}" have different lengths; input "${spec.name}" expects ${shown(shape)}`);
    if (!plan.buckets) throw needsBuckets(`items of field "${field}" have different lengths`);
    return {
      ...head,
      shapeOf: (item) => [bucketOf(source.data[item]!.length, item)],
      fill: (item, out, at, [length]) => {
        const values = source.data[item]!;
        for (const [k, value] of values.entries()) put(out, at + k, scaled(value, item));
        padWith(out, at + values.length, length! - values.length);
      },
    };
  }
  const own = elementCount(source.shape);
  const inner = shape[0] === 1 && !batched ? shape.slice(1) : shape;
  const asIs = fits(source.shape, inner);
  if (free >= 0 && !asIs) {
    throw new AssayError(
      "MODEL_DIMENSION_UNBOUND",
      `${where}: input "${spec.name}" expects ${shown(shape)}, and an item of field "${field}" has shape [${source.shape.join()}], which leaves dimension ${free + Number(batched)} unknown`,
      { details: { input: spec.name, dimension: free + Number(batched) } },
    );
  }
  const size = free >= 0 ? own : elementCount(shape);
  if (own !== size || (plan.layout === "as-is" && !asIs))
    throw misfit(
      `${where}: an item of field "${field}" has shape [${source.shape.join()}]; input "${spec.name}" expects [${shape.join()}]`,
    );
  const bound = free < 0 ? shape : inner.length === shape.length ? source.shape : [1, ...source.shape];
  const data = source.data as NumberColumn["data"];
  const fill: ModelInput["fill"] = (item, out, at) => {
    for (let k = 0; k < size; k++) put(out, at + k, scaled(Number(data[item * size + k]), item));
  };
  return { ...head, shapeOf: () => bound, fill };
}

/**
 * A model's input as the column of its name is, or the only column where there is one input.
 * Throws DATA_MISFIT, MODEL_DIMENSION_UNBOUND.
 */
export function plainInput(spec: TensorSpec, { columns }: Columns, alone: boolean, where: string): ModelInput {
  const as = Object.keys(wanted).find((name) => wanted[name] === spec.datatype) as InputPlan["as"] | undefined;
  if (!as) throw misfit(`${where}: input "${spec.name}" takes ${spec.datatype}, which is made from no data; leave the data out`);
  const column = columns.get(spec.name) ?? (alone && columns.size === 1 ? [...columns.values()][0] : undefined);
  if (!column) throw misfit(`${where}: no field "${spec.name}", which the model takes; it has ${[...columns.keys()].join(", ")}`);
  return prepareInput(spec, { field: spec.name, as, scale: 1, offset: 0, layout: "flatten-if-needed", pad: 0 }, column, where);
}

/** Inputs of several items, padded to the largest among them; first size = items, or without it for a model that has none and one item. */
export function stackInputs(inputs: readonly ModelInput[], items: readonly number[]): Map<string, Tensor> {
  return new Map(
    inputs.map(({ name, datatype, batched, shapeOf, fill }) => {
      const shape = items.map(shapeOf).reduce((most, own) => most.map((size, axis) => Math.max(size, own[axis]!)));
      const size = elementCount(shape);
      const all: Tensor["data"] = datatype === "BYTES" ? new Array<string>(items.length * size) : zeros(datatype, items.length * size);
      items.forEach((item, i) => fill(item, all, i * size, shape));
      // A model without a batch dimension takes one item a run; its first size stacks several for a file.
      const whole = batched ? [items.length, ...shape] : shape.length === 0 ? [] : [shape[0]! * items.length, ...shape.slice(1)];
      return [name, { datatype, shape: whole, data: all }];
    }),
  );
}

/** Items of one shape together, shapes in the order of their first item. */
export function groupByShape(inputs: readonly ModelInput[], items: readonly number[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const item of items) {
    const shape = inputs.map(({ shapeOf }) => shapeOf(item).join("x")).join();
    const group = groups.get(shape);
    if (group) group.push(item);
    else groups.set(shape, [item]);
  }
  return [...groups.values()];
}
