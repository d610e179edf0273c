/** One class an item, by the largest score, by a threshold, or as the model names it; and several labels an item. */
import type { Tensor } from "../../tensor/index.ts";
import type { Workload } from "../../workload/index.ts";
import type { Column } from "../columns.ts";
import { labelFault, notFinite, noScore, oneByOne, same, singleLabels, type ItemScore, type Scorer } from "./score.ts";

/** Right or wrong. Throws DATA_MISFIT when a label is no class. */
export function classificationScorer({ data }: Workload, labels: Column): Scorer {
  const { decode, threshold } = data.score;
  const labelOf = singleLabels(labels, data.labels);
  const named = data.classes ?? (labels.kind === "texts" ? [...new Set(labels.data)].sort() : null);
  if (labels.kind === "texts" && data.classes) {
    const stranger = labels.data.findIndex((label) => !data.classes!.some((name) => same(name, label)));
    if (stranger >= 0) throw labelFault(data.labels, `item ${stranger + 1} is "${labels.data[stranger]}", which is not among data.classes`);
  }
  if (labels.kind === "numbers") {
    for (let i = 0; i < labels.data.length; i++) {
      const label = Number(labels.data[i]);
      if (!Number.isInteger(label)) throw labelFault(data.labels, `item ${i + 1} is ${label}; a class is a whole number or a text`);
    }
  }
  const classOf = (index: number): string | number => named?.[index] ?? index;
  const judge = (item: number, prediction: string | number) => ({ value: same(prediction, labelOf(item)) ? 1 : 0, prediction });
  const mostFrequent = (items: readonly number[]): number => {
    const counts = new Map<unknown, number>();
    for (const item of items) counts.set(labelOf(item), (counts.get(labelOf(item)) ?? 0) + 1);
    return Math.max(0, ...counts.values()) / items.length;
  };
  const scoreOne = (item: number, output: Tensor): ItemScore => {
    const { data: values } = output;
    if (decode === "label") {
      if (values.length !== 1) return noScore(`the output has ${values.length} values; decode: label reads one, argmax the largest`);
      return judge(item, typeof values[0] === "bigint" ? Number(values[0]) : (values[0] as string | number));
    }
    if (Array.isArray(values)) return noScore("the output holds texts; decode: label reads them");
    const fault = notFinite(output);
    if (fault) return noScore(fault);
    if (decode === "sigmoid") {
      if (values.length !== 1) return noScore(`the output has ${values.length} scores; sigmoid reads one`);
      return judge(item, classOf(Number(values[0]) >= threshold ? 1 : 0));
    }
    let best = 0;
    for (let i = 1; i < values.length; i++) if (Number(values[i]) > Number(values[best])) best = i;
    const label = labelOf(item);
    if (typeof label === "number" && !named && (label < 0 || label >= values.length))
      return noScore(`its label ${label} is outside the model's ${values.length} classes`);
    return judge(item, classOf(best));
  };
  return oneByOne({ name: "top1", betterIs: "higher", binary: true }, scoreOne, mostFrequent);
}

/**
 * Several labels an item, each a 0 or 1 beside a score of its own: `exact` asks for all of them, `f1` takes
 * 2 · right ÷ (told + true) of the item, 1 where nothing is told and nothing true. Throws DATA_MISFIT.
 */
export function multilabelScorer({ data, accuracy }: Workload, labels: Column): Scorer {
  if (labels.kind !== "numbers") throw labelFault(data.labels, `they are ${labels.kind}; several labels an item are a 0 or 1 each`);
  const count = labels.shape.reduce((product, size) => product * size, 1);
  for (let i = 0; i < labels.data.length; i++) {
    const value = Number(labels.data[i]);
    if (value !== 0 && value !== 1) throw labelFault(data.labels, `item ${Math.floor(i / count) + 1} holds ${value}; expected 0 or 1`);
  }
  const exact = accuracy?.metric === "exact";
  const told = (output: Tensor, k: number): number => (Number(output.data[k]) >= data.score.threshold ? 1 : 0);
  const names = (bits: readonly number[]): string => bits.flatMap((bit, k) => (bit ? [data.classes?.[k] ?? k] : [])).join(" ");
  return oneByOne({ name: exact ? "exact" : "f1", betterIs: "higher", binary: exact }, (item, output) => {
    const fault = notFinite(output);
    if (fault) return noScore(fault);
    if (output.data.length !== count) return noScore(`the output has ${output.data.length} scores; an item has ${count} labels`);
    const bits = Array.from({ length: count }, (_, k) => told(output, k));
    let [right, all, differs] = [0, 0, false];
    for (const [k, bit] of bits.entries()) {
      const label = Number(labels.data[item * count + k]);
      right += bit * label;
      all += bit + label;
      differs ||= bit !== label;
    }
    return { value: exact ? Number(!differs) : all === 0 ? 1 : (2 * right) / all, prediction: names(bits) };
  });
}
