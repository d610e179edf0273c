/** An answer of the model → a prediction and its value beside the label. Anything missing or not finite is a fault. */
import { AssayError } from "../base/index.ts";
import type { Tensor } from "../tensor/index.ts";
import type { Workload } from "../workload/index.ts";
import type { Column } from "./columns.ts";

export interface ItemScore {
  /** 1 or 0 for a class; the squared or absolute error; null with a fault. */
  value: number | null;
  prediction: string | number | null;
  fault?: string;
}

export interface Metric {
  name: string;
  betterIs: "higher" | "lower";
  /** Whether values are 0 or 1. */
  binary: boolean;
}

export interface Scorer {
  metric: Metric;
  score(item: number, output: Tensor | undefined): ItemScore;
}

/** Numbers and texts that mean the same are the same: 3, "3" and 3.0. */
const same = (a: string | number, b: string | number): boolean =>
  String(a) === String(b) || (a !== "" && b !== "" && Number(a) === Number(b));

/** @param labels one an item; throws DATA_MISFIT when they do not fit the task */
export function createScorer({ data, accuracy }: Workload, labels: Column): Scorer {
  const { decode, threshold } = data.score;
  const fail = (what: string): AssayError => new AssayError("DATA_MISFIT", `labels "${data.labels}": ${what}`);
  if (labels.kind === "numbers" && labels.shape.some((size) => size !== 1))
    throw fail(`one item has shape [${labels.shape.join()}]; expected one value an item`);
  const labelOf = (item: number): string | number => (labels.kind === "texts" ? labels.data[item]! : Number(labels.data[item]));
  const whole = (item: number, { shape }: Tensor): string | null =>
    shape.length > 0 && shape[0] !== 1 ? `item ${item}: the answer has ${shape[0]} items` : null;

  if (data.task === "regression") {
    if (labels.kind === "texts") throw fail("they are texts; a regression needs numbers");
    const name = accuracy?.metric === "mae" ? "mae" : "mse";
    return {
      metric: { name, betterIs: "lower", binary: false },
      score(item, output) {
        if (!output) return { value: null, prediction: null, fault: "the output is missing" };
        const shapeFault = whole(item, output);
        if (shapeFault || output.data.length !== 1)
          return { value: null, prediction: null, fault: shapeFault ?? `the output has ${output.data.length} elements; expected 1` };
        const prediction = Number(output.data[0]);
        if (!Number.isFinite(prediction)) return { value: null, prediction: null, fault: `the output is ${prediction}` };
        const error = prediction - Number(labelOf(item));
        return { value: name === "mae" ? Math.abs(error) : error * error, prediction };
      },
    };
  }
  const named = data.classes ?? (labels.kind === "texts" ? [...new Set(labels.data)].sort() : null);
  if (named && labels.kind === "texts" && data.classes) {
    const stranger = labels.data.findIndex((label) => !named.some((name) => same(name, label)));
    if (stranger >= 0) throw fail(`item ${stranger + 1} is "${labels.data[stranger]}", which is not among data.classes`);
  }
  if (labels.kind === "numbers") {
    for (let i = 0; i < labels.data.length; i++) {
      const label = Number(labels.data[i]);
      if (!Number.isInteger(label)) throw fail(`item ${i + 1} is ${label}; a class is a whole number or a text`);
    }
  }
  const classOf = (index: number): string | number => named?.[index] ?? index;
  return {
    metric: { name: "top1", betterIs: "higher", binary: true },
    score(item, output) {
      if (!output) return { value: null, prediction: null, fault: "the output is missing" };
      const shapeFault = whole(item, output);
      if (shapeFault) return { value: null, prediction: null, fault: shapeFault };
      const { data: values } = output;
      if (values.length === 0) return { value: null, prediction: null, fault: "the output is empty" };
      const label = labelOf(item);
      if (decode === "label") {
        const prediction = typeof values[0] === "bigint" ? Number(values[0]) : (values[0] as string | number);
        return { value: same(prediction, label) ? 1 : 0, prediction };
      }
      if (Array.isArray(values)) return { value: null, prediction: null, fault: `the output holds texts; decode: label reads them` };
      for (const value of values)
        if (typeof value === "number" && !Number.isFinite(value))
          return { value: null, prediction: null, fault: `the output holds ${value}` };
      if (decode === "sigmoid") {
        if (values.length !== 1)
          return { value: null, prediction: null, fault: `the output has ${values.length} scores; sigmoid reads one` };
        const prediction = classOf(Number(values[0]) >= threshold ? 1 : 0);
        return { value: same(prediction, label) ? 1 : 0, prediction };
      }
      let best = 0;
      for (let i = 1; i < values.length; i++) if (Number(values[i]) > Number(values[best])) best = i;
      if (typeof label === "number" && !named && (label < 0 || label >= values.length)) {
        return { value: null, prediction: null, fault: `its label ${label} is outside the model's ${values.length} classes` };
      }
      const prediction = classOf(best);
      return { value: same(prediction, label) ? 1 : 0, prediction };
    },
  };
}
