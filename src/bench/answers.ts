/** The numbers of the scored output, item after item: kept beside the scores, so that candidates' answers can be compared themselves. */
import { readTensors, writeTensors } from "../artifact/index.ts";
import type { Tensor } from "../tensor/index.ts";

export interface Answers {
  /** Numbers of each item, from the first of the holdout on; 0 = no usable answer. */
  sizes: Int32Array;
  values: Float32Array | Float64Array;
}

/** Numbers kept of one look, so that large outputs do not fill the disk: further items are left out. */
const mostNumbers = 4 * 2 ** 20;

/** Stacks the answers; null for texts and for half floats, which are compared by their score only. */
export function stackAnswers(outputs: readonly (Tensor | undefined)[]): Answers | null {
  const known = outputs.filter((output) => output !== undefined);
  if (known.length === 0 || known.some(({ datatype }) => datatype === "BYTES" || datatype === "FP16")) return null;
  const sizes: number[] = [];
  let total = 0;
  for (const output of outputs) {
    const size = output?.data.length ?? 0;
    if (total + size > mostNumbers) break;
    sizes.push(size);
    total += size;
  }
  const values = known.every(({ datatype }) => datatype === "FP32") ? new Float32Array(total) : new Float64Array(total);
  let at = 0;
  for (const [item, size] of sizes.entries()) for (let i = 0; i < size; i++) values[at++] = Number(outputs[item]!.data[i]);
  return { sizes: Int32Array.from(sizes), values };
}

export function writeAnswers(path: string, { sizes, values }: Answers): void {
  writeTensors(path, {
    sizes: { datatype: "INT32", shape: [sizes.length], data: sizes },
    values: { datatype: values instanceof Float32Array ? "FP32" : "FP64", shape: [values.length], data: values },
  });
}

/** Reads what `writeAnswers` wrote. Throws DATA_UNREADABLE. */
export function readAnswers(path: string): Answers {
  const { sizes, values } = readTensors(path);
  return { sizes: sizes!.data as Int32Array, values: values!.data as Answers["values"] };
}

/** Pairs of the items that both hold, and the first item whose answers differ in length; null = none does. */
export function pairAnswers(
  reference: Answers,
  other: Answers,
): { pairs: [Answers["values"], Answers["values"]][]; misfit: { at: number; expected: number; found: number } | null } {
  const pairs: [Answers["values"], Answers["values"]][] = [];
  let misfit: ReturnType<typeof pairAnswers>["misfit"] = null;
  let [from, its] = [0, 0];
  for (let at = 0; at < Math.min(reference.sizes.length, other.sizes.length); at++) {
    const [expected, found] = [reference.sizes[at]!, other.sizes[at]!];
    if (expected !== found) misfit ??= { at, expected, found };
    else pairs.push([reference.values.subarray(from, from + expected), other.values.subarray(its, its + found)]);
    from += expected;
    its += found;
  }
  return { pairs, misfit };
}
