/** The first workload.yaml for a model and its data: what can be read from both, guesses marked as such. */
import { relative, sep } from "node:path";
import type { ModelHeader } from "../artifact/index.ts";
import { AssayError, figure } from "../base/index.ts";
import { excludableDrop } from "../stats/index.ts";
import { elementCount, type DataType } from "../tensor/index.ts";
import type { Column, Columns, ListColumn } from "./columns.ts";
import { isImagePath } from "./images.ts";
import { readColumns } from "./read.ts";

const asOf: Partial<Record<DataType, string>> = {
  FP32: "float32",
  FP64: "float64",
  INT64: "int64",
  INT32: "int32",
  UINT8: "uint8",
  BOOL: "bool",
  BYTES: "string",
};
const labelNames = /^(y|labels?|targets?|class|classes|species|outcome|y_test|y_true|folder)$/i;

const distinctOf = ({ data }: Column): number => new Set<unknown>(data as ArrayLike<unknown> & Iterable<unknown>).size;

function guessLabels({ columns, count }: Columns): string {
  const single = [...columns]
    .filter(([, column]) => column.kind === "texts" || (column.kind === "numbers" && elementCount(column.shape) === 1))
    .map(([name]) => name);
  // Labels come again; a text that is another one for each item names or describes it.
  const again = single.filter((name) => distinctOf(columns.get(name)!) <= count / 2);
  const found = single.find((name) => labelNames.test(name)) ?? again.at(-1) ?? single.at(-1);
  if (found === undefined)
    throw new AssayError(
      "DATA_MISFIT",
      `no field of the data holds one value an item, as labels do; there are ${[...columns.keys()].join(", ")}`,
    );
  return found;
}

function guessField({ columns }: Columns, input: string, size: number, labels: string): string | string[] | null {
  const fits = (column: Column | undefined): boolean => column?.kind === "numbers" && elementCount(column.shape) === size;
  if (fits(columns.get(input))) return input;
  const numbers = [...columns].filter(([name, column]) => name !== labels && column.kind === "numbers");
  const lists = columns.get(input)?.kind === "lists" ? input : [...columns].find(([, column]) => column.kind === "lists")?.[0];
  if (size < 0 && lists !== undefined) return lists;
  const whole = numbers.find(([, column]) => fits(column));
  if (whole && size > 1) return whole[0];
  const single = numbers.filter(([, column]) => column.kind === "numbers" && column.shape.length === 0).map(([name]) => name);
  if (single.length === size) return single;
  return whole?.[0] ?? null;
}

const imagesOf = ({ columns }: Columns): string | undefined =>
  [...columns].find(([, column]) => column.kind === "texts" && column.data.slice(0, 100).every(isImagePath))?.[0];

/** Three sizes that hold a half, nine tenths and all of the items, each a multiple of 8. */
function guessBuckets({ data }: ListColumn): number[] {
  const lengths = data.map((list) => list.length).sort((a, b) => a - b);
  const at = (share: number): number => 8 * Math.max(1, Math.ceil(lengths[Math.ceil(share * lengths.length) - 1]! / 8));
  return [...new Set([at(0.5), at(0.9), at(1)])];
}

/** How an input is made from images, as most exported models want it. */
function draftImage(shape: readonly number[]): string[] {
  const planar = shape[0] === 1 || shape[0] === 3;
  const [channels, height, width] = planar ? shape : [shape[2], shape[0], shape[1]];
  const side = (size: number | undefined): number => (size !== undefined && size > 0 ? size : 224);
  const colour = channels === 1 ? "gray" : "rgb";
  return [
    `      image: { height: ${side(height)}, width: ${side(width)}, fit: cover, colour: ${colour}, layout: ${planar ? "nchw" : "nhwc"} }  # as it was trained; mean and deviation too`,
    `      scale: ${1 / 255}  # bytes to 0–1; mend it if the model was trained otherwise`,
  ];
}

const yaml = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(yaml).join(", ")}]`;
  const text = String(value);
  return typeof value === "number" || /^[A-Za-z_][\w./-]*$/.test(text) ? text : JSON.stringify(text);
};

export interface DraftOptions {
  /** Where workload.yaml will be written. */
  folder: string;
  /** Cores of this machine. */
  cores: number;
  name: string;
  /** `$schema` for editors. */
  schema: string;
}

/** The largest loss to allow, with what it is: what so few items can exclude, or a share of the labels' own spread. */
function draftDrop(metric: string, labels: Column, holdout: number): string {
  const what = "largest loss against the baseline, in the metric's unit";
  if (metric === "mse" && labels.kind === "numbers") {
    const values = Array.from(labels.data, Number);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    return `${figure(variance / 100, 2)}  # ${what}: 1 % of the labels' variance`;
  }
  const least = metric === "top1" ? excludableDrop(holdout) : 0;
  return least < 0.01 ? `0.01  # ${what}` : `${Math.ceil(1000 * least) / 1000}  # ${what}; ${holdout} items cannot exclude less`;
}

/** The text of workload.yaml. Throws DATA_UNREADABLE, or DATA_MISFIT when nothing in the data can be the labels. */
export async function draftWorkload(
  models: readonly { id: string; path: string; header: ModelHeader }[],
  dataPath: string,
  { folder, cores, name, schema }: DraftOptions,
): Promise<string> {
  const columns = await readColumns(dataPath);
  const labels = guessLabels(columns);
  const labelColumn = columns.columns.get(labels)!;
  const whole = labelColumn.kind === "texts" || Array.from(labelColumn.data, Number).every(Number.isInteger);
  const distinct = distinctOf(labelColumn);
  const [{ header }] = models as [(typeof models)[number]];
  const classes = whole && (labelColumn.kind === "texts" || distinct <= Math.max(20, columns.count / 20));
  const scores = header.outputs.find(
    ({ datatype, shape }) => (datatype === "FP32" || datatype === "FP64") && (!classes || (shape.at(-1) ?? 1) !== 1),
  );
  const label = header.outputs.find(({ datatype }) => datatype === "INT64" || datatype === "BYTES" || datatype === "INT32");
  const output = classes ? (label && !scores ? label : (scores ?? label ?? header.outputs[0]!)) : (scores ?? header.outputs[0]!);
  // More numbers than there are classes to score: a vector, by which like is found.
  const vector = classes && output === scores && (output.shape.at(-1) ?? 1) > 2 * distinct;
  const [task, metric] = vector ? ["retrieval", "recall"] : classes ? ["classification", "top1"] : ["regression", "mse"];
  const decode = vector || !classes ? "identity" : output === label ? "label" : (output.shape.at(-1) ?? 1) === 1 ? "sigmoid" : "argmax";
  const place = (path: string): string => relative(folder, path).split(sep).join("/");
  const images = imagesOf(columns);
  const inputs = header.inputs.map((spec) => {
    const inner = spec.shape.slice(spec.shape[0] === -1 ? 1 : 0);
    const pictures = images !== undefined && inner.length === 3;
    const size = elementCount(inner);
    const field = pictures ? images : guessField(columns, spec.name, size, labels);
    const column = typeof field === "string" ? columns.columns.get(field) : undefined;
    const image = column?.kind === "numbers" && column.source === "u1" && spec.datatype === "FP32";
    const fieldText =
      field === null ? `choose  # none of ${[...columns.columns.keys()].slice(0, 8).join(", ")} has ${size} numbers an item` : yaml(field);
    return [
      `    ${yaml(spec.name)}:`,
      `      field: ${fieldText}`,
      `      as: ${asOf[spec.datatype] ?? "float32"}`,
      ...(pictures ? draftImage(inner) : []),
      ...(column?.kind === "lists"
        ? [`      buckets: [${guessBuckets(column).join(", ")}]  # each item is padded to the smallest that holds it`]
        : []),
      ...(image ? [`      scale: ${1 / 255}  # bytes to 0–1; mend it if the model was trained otherwise`] : []),
    ].join("\n");
  });
  const least = Math.max(1, Math.floor(columns.count * 0.6));
  const calibration = Math.min(512, Math.floor(columns.count * 0.2));
  const tuning = Math.min(512, columns.count - least - calibration);
  const holdout = Math.min(2000, columns.count - calibration - tuning);
  return `# yaml-language-server: $schema=${schema}
apiVersion: assay/v1
name: ${name}
class: online
models:  # the first is the baseline
${models.map(({ id, path }) => `  - { id: ${yaml(id)}, path: ${yaml(place(path))} }`).join("\n")}
data:
  path: ${yaml(place(dataPath))}  # ${columns.count} items
  inputs:
${inputs.join("\n")}
  labels: ${yaml(labels)}
  score: { output: ${yaml(output.name)}, decode: ${decode} }
  task: ${task}${vector ? "  # recall of the nearest by cosine; classification if the output is scores" : ""}
  split: { calibration: ${calibration}, tuning: ${tuning}, holdout: ${holdout} }
traffic:
  arrival: poisson
  ratePerSecond: 100  # your peak; leave it out to find the capacity
targets:  # yours to set
  latencyMs: { p50: 20, p99: 100 }
  successRatio: 0.995
accuracy:
  metric: ${metric}
  maxDrop: ${draftDrop(metric, labelColumn, holdout)}
hardware:
  threads: ${Math.max(1, cores - 1)}  # cores that one replica may use
  # hourlyUsd: 0.10  # price of one replica; without it no cost is shown
budget: { wallSeconds: 120 }
`;
}
