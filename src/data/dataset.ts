/** The workload's data: inputs as each model wants them, the three parts, and the scorer. */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { digestJson } from "../base/index.ts";
import { digestFile, type ModelHeader } from "../artifact/index.ts";
import { bytesOfData, type Tensor } from "../tensor/index.ts";
import type { Workload } from "../workload/index.ts";
import type { Columns } from "./columns.ts";
import { imageFolderOf } from "./images.ts";
import { columnOf, groupByShape, misfit, prepareInput, sourceOf, stackInputs, type ModelInput, type Source } from "./inputs.ts";
import { insideFolder, readCharset, readColumns } from "./read.ts";
import { createScorer, type ItemScore, type Metric } from "./score/index.ts";

export type Part = "calibration" | "tuning" | "holdout";

export interface Dataset {
  count: number;
  /** SHA-256 of the file; with images, of the canonical JSON of its own and each image's. */
  digest: string;
  /** Items of each part. */
  splits: Readonly<Record<Part, readonly number[]>>;
  metric: Metric;
  /** Outputs that are asked for. */
  outputsOf(modelId: string): string[];
  /** Items whose inputs have one shape together: more than one group where sizes are free. */
  groups(modelId: string, items: readonly number[]): number[][];
  /** Inputs of several items, first size = items (or without it, for a model that has none and one item). */
  stack(modelId: string, items: readonly number[]): Map<string, Tensor>;
  /** Scores of those items by their answers, in their order; an answer that is undefined did not come. */
  score(modelId: string, items: readonly number[], answers: readonly (ReadonlyMap<string, Tensor> | undefined)[]): ItemScore[];
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

async function digestOf(path: string, images: ReadonlySet<string>): Promise<string> {
  const own = statSync(path).isDirectory() ? null : await digestFile(path);
  if (own !== null && images.size === 0) return own;
  const each: Record<string, string> = {};
  for (const image of images) each[relative(dirname(path), image).split(sep).join("/")] = await digestFile(image);
  return digestJson({ data: own, images: each });
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
  const columns = await readColumns(path);
  const labels = columnOf(columns, data.labels, "data.labels");
  const splits = splitsOf(workload, columns);
  const { ctc, partner } = data.score;
  const scorer = createScorer(workload, {
    labels,
    partner: partner === undefined ? null : columnOf(columns, partner, "data.score.partner"),
    charset: ctc ? readCharset(insideFolder(folder, ctc.charset, allowOutside), ctc.space) : null,
    holdout: splits.holdout,
  });

  const used = [...splits.calibration, ...splits.tuning, ...splits.holdout];
  const imageFolder = imageFolderOf(path, statSync(path).isDirectory());
  const images = new Set<string>();
  const open = (image: string): string => {
    const at = insideFolder(imageFolder, image, allowOutside);
    images.add(at);
    return at;
  };
  const sources = new Map<string, Source>();
  for (const [name, plan] of Object.entries(data.inputs)) {
    const where = `data.inputs.${name}`;
    sources.set(name, await sourceOf(columnOf(columns, plan.field, where), plan, where, used, open));
  }
  const known = new Set(models.flatMap(({ header }) => header.inputs.map(({ name }) => name)));
  for (const name of sources.keys()) {
    if (!known.has(name)) throw misfit(`data.inputs.${name}: no model has this input; the models have ${[...known].join(", ")}`);
  }
  const plans = new Map<string, ModelInput[]>();
  const outputs = new Map<string, string>();
  for (const { id, header } of models) {
    plans.set(
      id,
      header.inputs.map((spec) => {
        const plan = data.inputs[spec.name];
        if (!plan) throw misfit(`model ${id} needs input "${spec.name}"; data.inputs has ${[...sources.keys()].join(", ") || "none"}`);
        return prepareInput(spec, plan, sources.get(spec.name)!, `model ${id}`);
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

  const stack = (modelId: string, items: readonly number[]): Map<string, Tensor> => stackInputs(plans.get(modelId)!, items);
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
    digest: await digestOf(path, images),
    splits,
    metric: { ...scorer.metric, ...(scorer.blind && { blind: scorer.blind(splits.holdout) }) },
    outputsOf: (modelId) => [outputs.get(modelId)!],
    groups: (modelId, items) => groupByShape(plans.get(modelId)!, items),
    stack,
    score: (modelId, items, answers) => {
      const batched = plans.get(modelId)!.some((input) => input.batched);
      return scorer.score(
        items,
        answers.map((found) => {
          const output = found?.get(outputs.get(modelId)!);
          // Without a batch dimension the whole output is the item's.
          return output && !batched && output.shape[0] !== 1 ? { ...output, shape: [1, ...output.shape] } : output;
        }),
      );
    },
  };
}
