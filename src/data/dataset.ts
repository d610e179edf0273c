/** The workload's data: inputs as each model wants them, the three parts, and the scorer. */
import { createHash } from "node:crypto";
import { AssayError } from "../base/index.ts";
import { digestFile, type ModelHeader } from "../artifact/index.ts";
import { bytesOfData, elementCount, zeros, type DataType, type Tensor, type TensorSpec } from "../tensor/index.ts";
import type { Workload } from "../workload/index.ts";
import type { Column, Columns, NumberColumn } from "./columns.ts";
import { insideFolder, readCharset, readColumns } from "./read.ts";
import { createScorer, type ItemScore, type Metric } from "./score/index.ts";

export type Part = "calibration" | "tuning" | "holdout";

export interface Dataset {
  count: number;
  /** SHA-256 of the file. */
  digest: string;
  /** Items of each part. */
  splits: Readonly<Record<Part, readonly number[]>>;
  metric: Metric;
  /** Outputs that are asked for. */
  outputsOf(modelId: string): string[];
  /** Inputs of several items, first size = items (or without it, for a model that has none and one item). */
  stack(modelId: string, items: readonly number[]): Map<string, Tensor>;
  /** Scores of those items by their answers, in their order; an answer that is undefined did not come. */
  score(modelId: string, items: readonly number[], answers: readonly (ReadonlyMap<string, Tensor> | undefined)[]): ItemScore[];
}

const wanted: Record<string, DataType> = {
  float32: "FP32",
  float64: "FP64",
  int64: "INT64",
  int32: "INT32",
  uint8: "UINT8",
  bool: "BOOL",
  string: "BYTES",
};
const misfit = (what: string): AssayError => new AssayError("DATA_MISFIT", what);

type InputPlan = Workload["data"]["inputs"][string];

/** Number columns side by side as one. */
function columnOf({ count, columns }: Columns, field: InputPlan["field"], where: string): Column {
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
    if (part.kind === "texts" || part.shape.length > 0)
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

interface PreparedInput {
  name: string;
  datatype: DataType;
  /** Shape of one item, without the batch. */
  shape: readonly number[];
  batched: boolean;
  fill: (item: number, out: Tensor["data"], at: number) => void;
}

function prepare(spec: TensorSpec, plan: InputPlan, column: Column, where: string): PreparedInput {
  const datatype = wanted[plan.as]!;
  if (datatype !== spec.datatype)
    throw misfit(`${where}: data.inputs.${spec.name}.as gives ${datatype}; the model expects ${spec.datatype}`);
  const batched = spec.shape[0] === -1;
  const shape = batched ? spec.shape.slice(1) : spec.shape;
  const size = elementCount(shape);
  if (column.kind === "texts") {
    if (datatype !== "BYTES")
      throw misfit(
        `${where}: field "${String(plan.field)}" holds texts (item 1 is "${column.data[0]}"); the model expects ${spec.datatype}`,
      );
    if (size !== 1) throw misfit(`${where}: one text an item; the model expects [${shape.join()}]`);
    return { name: spec.name, datatype, shape, batched, fill: (item, out, at) => void ((out as string[])[at] = column.data[item]!) };
  }
  if (datatype === "BYTES") throw misfit(`${where}: field "${String(plan.field)}" holds numbers; the model expects texts`);
  const own = elementCount(column.shape);
  const inner = shape[0] === 1 && !batched ? shape.slice(1) : shape;
  if (own !== size || (plan.layout === "as-is" && column.shape.join() !== inner.join())) {
    throw misfit(
      `${where}: an item of field "${String(plan.field)}" has shape [${column.shape.join()}]; input "${spec.name}" expects [${shape.join()}]`,
    );
  }
  const { data } = column;
  const { scale, offset } = plan;
  const wide = datatype === "INT64";
  const fill = (item: number, out: Tensor["data"], at: number): void => {
    for (let k = 0; k < size; k++) {
      const value = Number((data as NumberColumn["data"])[item * size + k]) * scale + offset;
      if (!Number.isFinite(value)) throw misfit(`${where}: item ${item + 1} of field "${String(plan.field)}" holds ${value}`);
      if (wide) (out as BigInt64Array)[at + k] = BigInt(Math.round(value));
      else (out as Float64Array)[at + k] = value;
    }
  };
  return { name: spec.name, datatype, shape, batched, fill };
}

function splitsOf({ data }: Workload, columns: Columns): Record<Part, number[]> {
  const { split } = data;
  if (!("field" in split)) {
    const { calibration, tuning, holdout } = split;
    const all = calibration + tuning + holdout;
    if (all > columns.count)
      throw misfit(`data.split asks for ${calibration} + ${tuning} + ${holdout} = ${all} items; the data have ${columns.count}`);
    const range = (from: number, length: number): number[] => Array.from({ length }, (_, i) => from + i);
    return { calibration: range(0, calibration), tuning: range(calibration, tuning), holdout: range(calibration + tuning, holdout) };
  }
  const column = columnOf(columns, split.field, "data.split.field");
  if (column.kind !== "texts") throw misfit(`data.split.field: "${split.field}" holds numbers; expected calibration, tuning or holdout`);
  const parts: Record<Part, number[]> = { calibration: [], tuning: [], holdout: [] };
  column.data.forEach((part, item) => {
    if (!Object.hasOwn(parts, part))
      throw misfit(`data.split.field: item ${item + 1} is "${part}"; expected calibration, tuning or holdout`);
    parts[part as Part].push(item);
  });
  if (parts.holdout.length === 0) throw misfit("data.split.field: no item is in the holdout");
  return parts;
}

/** Loads the data and checks that they fit the models. Throws DATA_UNREADABLE, DATA_MISFIT, PATH_OUTSIDE. */
export async function loadDataset(
  workload: Workload,
  folder: string,
  models: readonly { id: string; header: ModelHeader }[],
  { allowOutside = false }: { allowOutside?: boolean } = {},
): Promise<Dataset> {
  const { data } = workload;
  const path = insideFolder(folder, data.path, allowOutside);
  const columns = readColumns(path);
  const labels = columnOf(columns, data.labels, "data.labels");
  const splits = splitsOf(workload, columns);
  const { ctc, partner } = data.score;
  const scorer = createScorer(workload, {
    labels,
    partner: partner === undefined ? null : columnOf(columns, partner, "data.score.partner"),
    charset: ctc ? readCharset(insideFolder(folder, ctc.charset, allowOutside), ctc.space) : null,
    holdout: splits.holdout,
  });

  const sources = new Map(Object.entries(data.inputs).map(([name, plan]) => [name, columnOf(columns, plan.field, `data.inputs.${name}`)]));
  const known = new Set(models.flatMap(({ header }) => header.inputs.map(({ name }) => name)));
  for (const name of sources.keys()) {
    if (!known.has(name)) throw misfit(`data.inputs.${name}: no model has this input; the models have ${[...known].join(", ")}`);
  }
  const plans = new Map<string, PreparedInput[]>();
  const outputs = new Map<string, string>();
  for (const { id, header } of models) {
    plans.set(
      id,
      header.inputs.map((spec) => {
        const plan = data.inputs[spec.name];
        if (!plan) throw misfit(`model ${id} needs input "${spec.name}"; data.inputs has ${[...sources.keys()].join(", ") || "none"}`);
        return prepare(spec, plan, sources.get(spec.name)!, `model ${id}`);
      }),
    );
    const names = header.outputs.map(({ name }) => name);
    const asked = typeof data.score.output === "string" ? data.score.output : data.score.output?.[id];
    const [only, ...more] = names;
    if (asked === undefined && more.length > 0)
      throw misfit(`model ${id} has outputs ${names.join(", ")}; data.score.output must name the one that is scored`);
    if (asked !== undefined && !names.includes(asked)) {
      const aside = header.unsupportedOutputs.find(({ name }) => name === asked);
      throw misfit(
        `data.score.output: model ${id} has no ${aside ? "tensor " : ""}output "${asked}"${aside ? ` (${aside.reason})` : ""}; it has ${names.join(", ")}`,
      );
    }
    outputs.set(id, asked ?? only!);
  }

  const stack = (modelId: string, items: readonly number[]): Map<string, Tensor> =>
    new Map(
      plans.get(modelId)!.map(({ name, datatype, shape, batched, fill }) => {
        const size = elementCount(shape);
        const all: Tensor["data"] = datatype === "BYTES" ? new Array<string>(items.length * size) : zeros(datatype, items.length * size);
        items.forEach((item, i) => fill(item, all, i * size));
        // A model without a batch dimension takes one item a run; its first size stacks several for a file.
        const whole = batched ? [items.length, ...shape] : shape.length === 0 ? [] : [shape[0]! * items.length, ...shape.slice(1)];
        return [name, { datatype, shape: whole, data: all }];
      }),
    );

  const parts = new Map<string, { part: Part; item: number }>();
  const [first] = models;
  for (const part of ["calibration", "tuning", "holdout"] as const) {
    for (const item of splits[part]) {
      const hash = createHash("sha256");
      for (const [, tensor] of stack(first!.id, [item])) hash.update(bytesOfData(tensor.data));
      const key = hash.digest("base64");
      const before = parts.get(key);
      if (before && before.part !== part)
        throw misfit(
          `data.split: items ${before.item + 1} (${before.part}) and ${item + 1} (${part}) are the same; an item may be in one part only`,
        );
      parts.set(key, { part, item });
    }
  }
  return {
    count: columns.count,
    digest: await digestFile(path),
    splits,
    metric: scorer.metric,
    outputsOf: (modelId) => [outputs.get(modelId)!],
    stack,
    score: (modelId, items, answers) =>
      scorer.score(
        items,
        answers.map((found) => found?.get(outputs.get(modelId)!)),
      ),
  };
}
