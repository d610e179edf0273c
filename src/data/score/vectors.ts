/** A vector an item (an embedding): whether its nearest neighbours belong with it, or how near its partner lies. */
import type { Tensor } from "../../tensor/index.ts";
import type { Workload } from "../../workload/index.ts";
import type { Column } from "../columns.ts";
import { labelFault, notFinite, noScore, same, singleLabels, type ItemScore, type Scorer } from "./score.ts";

/** The vector in unit length; a sentence when it is none. */
function unit(output: Tensor | undefined): Float64Array | string {
  if (!output) return "the output is missing";
  const fault = notFinite(output);
  if (fault) return fault;
  const vector = Float64Array.from(output.data as Float32Array, Number);
  const length = Math.hypot(...vector);
  if (!(length > 0)) return "the output is a vector of zeros, which lies in no direction";
  return vector.map((value) => value / length);
}

function cosine(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/**
 * Recall at k: each item asks for the k nearest others by cosine; right when one of them has its label.
 * Equal distances count in the order of the items. An item without another of its label is a fault of the data.
 */
export function retrievalScorer({ data }: Workload, labels: Column, holdout: readonly number[]): Scorer {
  const labelOf = singleLabels(labels, data.labels);
  const k = data.score.k ?? 1;
  const groups = new Map<string, number>();
  for (const item of holdout) groups.set(String(labelOf(item)), (groups.get(String(labelOf(item))) ?? 0) + 1);
  const alone = holdout.find((item) => groups.get(String(labelOf(item))) === 1);
  if (alone !== undefined)
    throw labelFault(
      data.labels,
      `item ${alone + 1} is the only one of the holdout labelled "${labelOf(alone)}": nothing can be found for it`,
    );
  return {
    metric: { name: "recall", betterIs: "higher", binary: true },
    score(items, outputs) {
      const vectors = outputs.map(unit);
      return items.map((item, at): ItemScore => {
        const own = vectors[at]!;
        if (typeof own === "string") return noScore(own);
        const nearest: { place: number; near: number }[] = [];
        for (const [place, other] of vectors.entries()) {
          if (place === at || typeof other === "string") continue;
          const near = cosine(own, other);
          if (nearest.length === k && near <= nearest[k - 1]!.near) continue;
          const rank = nearest.findIndex((one) => near > one.near);
          nearest.splice(rank < 0 ? nearest.length : rank, 0, { place, near });
          nearest.length = Math.min(k, nearest.length);
        }
        const hit = nearest.find(({ place }) => same(labelOf(items[place]!), labelOf(item)));
        return { value: hit ? 1 : 0, prediction: nearest[0] ? String(labelOf(items[nearest[0].place]!)) : null };
      });
    },
  };
}

/** Error of the cosine between an item's vector and its partner's, against the label. Throws DATA_MISFIT. */
export function similarityScorer({ data, accuracy }: Workload, labels: Column, partner: Column): Scorer {
  if (labels.kind === "texts") throw labelFault(data.labels, "they are texts; how alike two items are is a number from −1 to 1");
  const labelOf = singleLabels(labels, data.labels);
  const partnerOf = singleLabels(partner, data.score.partner);
  const name = accuracy?.metric === "mae" ? "mae" : "mse";
  return {
    metric: { name, betterIs: "lower", binary: false },
    score(items, outputs) {
      const vectors = outputs.map(unit);
      const placeOf = new Map(items.map((item, place) => [item, place]));
      return items.map((item, at): ItemScore => {
        const place = placeOf.get(Number(partnerOf(item)));
        if (place === undefined) return noScore(`its partner, item ${partnerOf(item)} from 0, is not in the holdout`);
        const [own, other] = [vectors[at]!, vectors[place]!];
        if (typeof own === "string") return noScore(own);
        if (typeof other === "string") return noScore(`its partner: ${other}`);
        const prediction = cosine(own, other);
        const error = prediction - Number(labelOf(item));
        return { value: name === "mae" ? Math.abs(error) : error * error, prediction };
      });
    },
  };
}
