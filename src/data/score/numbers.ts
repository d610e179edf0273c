/** One number an item: its squared or absolute error. */
import type { Tensor } from "../../tensor/index.ts";
import type { Workload } from "../../workload/index.ts";
import type { Column } from "../columns.ts";
import { labelFault, noScore, oneByOne, singleLabels, type ItemScore, type Scorer } from "./score.ts";

/** The error of the one number that suits all labels best: their mean for squared errors, their median for absolute ones. */
function spread(labels: readonly number[], name: "mae" | "mse"): number {
  const values = Float64Array.from(labels).sort();
  const centre = name === "mae" ? values[values.length >> 1]! : values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (name === "mae" ? Math.abs(value - centre) : (value - centre) ** 2), 0) / values.length;
}

/** Throws DATA_MISFIT when the labels are texts or lists. */
export function regressionScorer({ data, accuracy }: Workload, labels: Column): Scorer {
  if (labels.kind === "texts") throw labelFault(data.labels, "they are texts; a regression needs numbers");
  const labelOf = singleLabels(labels, data.labels);
  const name = accuracy?.metric === "mae" ? "mae" : "mse";
  const blind = (items: readonly number[]): number =>
    spread(
      items.map((item) => Number(labelOf(item))),
      name,
    );
  const scoreOne = (item: number, output: Tensor): ItemScore => {
    if (output.data.length !== 1) return noScore(`the output has ${output.data.length} elements; expected 1`);
    const prediction = Number(output.data[0]);
    if (!Number.isFinite(prediction)) return noScore(`the output is ${prediction}`);
    const error = prediction - Number(labelOf(item));
    return { value: name === "mae" ? Math.abs(error) : error * error, prediction };
  };
  return oneByOne({ name, betterIs: "lower", binary: false }, scoreOne, blind);
}
