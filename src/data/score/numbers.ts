/** One number an item: its squared or absolute error. */
import type { Workload } from "../../workload/index.ts";
import type { Column } from "../columns.ts";
import { labelFault, noScore, oneByOne, singleLabels, type Scorer } from "./score.ts";

/** Throws DATA_MISFIT when the labels are texts or lists. */
export function regressionScorer({ data, accuracy }: Workload, labels: Column): Scorer {
  if (labels.kind === "texts") throw labelFault(data.labels, "they are texts; a regression needs numbers");
  const labelOf = singleLabels(labels, data.labels);
  const name = accuracy?.metric === "mae" ? "mae" : "mse";
  return oneByOne({ name, betterIs: "lower", binary: false }, (item, output) => {
    if (output.data.length !== 1) return noScore(`the output has ${output.data.length} elements; expected 1`);
    const prediction = Number(output.data[0]);
    if (!Number.isFinite(prediction)) return noScore(`the output is ${prediction}`);
    const error = prediction - Number(labelOf(item));
    return { value: name === "mae" ? Math.abs(error) : error * error, prediction };
  });
}
