/** Runs the float model over the calibration split and takes the range of every activation that is quantised. */
import { toBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema, type ModelProto } from "onnx-buf";
import { openOnnxSession } from "../../artifact/index.ts";
import { asAssayError } from "../../base/index.ts";
import type { Tensor } from "../../tensor/index.ts";
import { defaultSession, type StaticRoute } from "../../workload/index.ts";
import { JobFault } from "../worker.ts";
import { countOf, feedsOf, largestItem, type Groups } from "./items.ts";
import type { BuildJob } from "./jobs.ts";
import { activationsOf, exposeActivations, type Ranges } from "./int8-static.ts";
import { addTo, createHistogram, entropyRange, percentileRange, type Range } from "./ranges.ts";

/** Items joined in one run, and numbers in its inputs: every activation of it is held at once. */
const mostItems = 32;
const mostNumbers = 65_536;

/** @param copy a model that may be changed */
export async function calibrate(
  copy: ModelProto & { graph: NonNullable<ModelProto["graph"]> },
  data: Groups,
  { rows, batchable }: Pick<BuildJob, "rows" | "batchable">,
  { operators, calibration }: Pick<StaticRoute, "operators" | "calibration">,
  progress: (done: number, total: number) => void,
): Promise<Ranges> {
  const names = activationsOf(copy.graph, operators);
  exposeActivations(copy.graph, names);
  const session = await openOnnxSession(toBinary(ModelProtoSchema, copy), defaultSession(1), null).catch((fault: unknown) => {
    throw new JobFault("unsupported_op", asAssayError(fault).message);
  });
  const ranges = new Map<string, Range>();
  const widen = (name: string, tensor: Tensor): void => {
    let [low, high] = ranges.get(name) ?? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const value of tensor.data as Float32Array) {
      if (!Number.isFinite(value)) throw new JobFault("artifact_invalid", `calibration: "${name}" has a value that is not finite`);
      if (value < low) low = value;
      if (value > high) high = value;
    }
    ranges.set(name, [low, high]);
  };
  const count = countOf(data, rows);
  const step = batchable ? Math.max(1, Math.min(mostItems, Math.floor(mostNumbers / largestItem(data, rows)))) : 1;
  const passes = calibration === "minmax" ? 1 : 2;
  const pass = async (number: number, take: (name: string, tensor: Tensor) => void): Promise<void> => {
    let done = number * count;
    for (const { feed, items } of feedsOf(data, rows, step)) {
      const found = await session.run(feed);
      for (const name of names) {
        const tensor = found.get(name) ?? feed.get(name);
        if (tensor) take(name, tensor);
      }
      done += items;
      progress(done, passes * count);
    }
  };
  await pass(0, widen);
  if (calibration !== "minmax") {
    const histograms = new Map([...ranges].map(([name, range]) => [name, createHistogram(range)]));
    await pass(1, (name, tensor) => addTo(histograms.get(name)!, tensor.data as Float32Array));
    const narrowed = calibration === "percentile" ? percentileRange : entropyRange;
    for (const [name, histogram] of histograms) ranges.set(name, narrowed(histogram));
  }
  await session.close();
  return ranges;
}
