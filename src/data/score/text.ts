/** A text an item: read from the scores of single characters (CTC, greedy) or as the model gives it; its character errors. */
import type { Tensor } from "../../tensor/index.ts";
import type { Workload } from "../../workload/index.ts";
import type { Column } from "../columns.ts";
import { labelFault, notFinite, noScore, oneByOne, type ItemScore, type Scorer } from "./score.ts";

/** Code points of the composed form (NFC): é is one character, however it was written. */
const characters = (text: string): string[] => Array.from(text.normalize("NFC"));

/** Least insertions, deletions and replacements of characters that make one text the other (Levenshtein). */
export function editDistance(a: readonly string[], b: readonly string[]): number {
  let row = Uint32Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, character] of a.entries()) {
    const next = new Uint32Array(b.length + 1);
    next[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const replaced = row[j]! + (character === b[j] ? 0 : 1);
      next[j + 1] = Math.min(replaced, row[j + 1]! + 1, next[j]! + 1);
    }
    row = next;
  }
  return row[b.length]!;
}

/** The largest score at each step; repeats joined, blanks left out. @param charset characters by class, the blank's place left empty */
function greedy({ data, shape }: Tensor, charset: readonly string[], blank: number): string | ItemScore {
  const classes = shape.at(-1) ?? 0;
  if (shape.length < 2 || classes !== charset.length)
    return noScore(
      `the output has shape [${shape.join()}]; expected steps × ${charset.length} (the characters of data.score.ctc and the blank)`,
    );
  let text = "";
  let last = blank;
  for (let step = 0; step < data.length / classes; step++) {
    let best = 0;
    for (let k = 1; k < classes; k++) if (Number(data[step * classes + k]) > Number(data[step * classes + best])) best = k;
    if (best !== blank && best !== last) text += charset[best]!;
    last = best;
  }
  return text;
}

/**
 * Character error rate. The value of an item is its errors over the mean length of the labels, so that
 * the mean over the holdout is all errors ÷ all characters. Throws DATA_MISFIT when labels are no texts or are all empty.
 * @param charset characters in the order of the model's classes, without the blank; null = decode: label
 * @param holdout the items whose mean length is meant
 */
export function textScorer({ data }: Workload, labels: Column, charset: readonly string[] | null, holdout: readonly number[]): Scorer {
  if (labels.kind !== "texts") throw labelFault(data.labels, "they are numbers; a text is needed for each item");
  const truth = (item: number): string[] => characters(labels.data[item]!);
  const meanLength = holdout.reduce((sum, item) => sum + truth(item).length, 0) / holdout.length;
  if (!(meanLength > 0)) throw labelFault(data.labels, "all texts of the holdout are empty");
  const blank = data.score.ctc?.blank ?? 0;
  const known = charset && [...charset.slice(0, blank), "", ...charset.slice(blank)];
  return oneByOne({ name: "cer", betterIs: "lower", binary: false }, (item, output) => {
    let found: string | ItemScore;
    if (known) {
      const fault = notFinite(output);
      if (fault) return noScore(fault);
      found = greedy(output, known, blank);
    } else found = Array.isArray(output.data) ? output.data.join("") : noScore("the output holds numbers; decode: ctc reads them");
    if (typeof found !== "string") return found;
    return { value: editDistance(characters(found), truth(item)) / meanLength, prediction: found };
  });
}
