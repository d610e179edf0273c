/** The scorer of a workload's task. */
import type { Workload } from "../../workload/index.ts";
import type { Column } from "../columns.ts";
import { classificationScorer, multilabelScorer } from "./classes.ts";
import { regressionScorer } from "./numbers.ts";
import type { Scorer } from "./score.ts";
import { textScorer } from "./text.ts";
import { retrievalScorer, similarityScorer } from "./vectors.ts";

export { type ItemScore, type Metric } from "./score.ts";

export interface ScoredData {
  labels: Column;
  /** Where data.score.partner names one. */
  partner: Column | null;
  /** Where data.score.ctc names them: characters in the order of the classes. */
  charset: readonly string[] | null;
  holdout: readonly number[];
}

/** Throws DATA_MISFIT when the labels do not fit the task. */
export function createScorer(workload: Workload, { labels, partner, charset, holdout }: ScoredData): Scorer {
  switch (workload.data.task) {
    case "classification":
      return classificationScorer(workload, labels);
    case "multilabel":
      return multilabelScorer(workload, labels);
    case "regression":
      return regressionScorer(workload, labels);
    case "text":
      return textScorer(workload, labels, charset, holdout);
    case "retrieval":
      return retrievalScorer(workload, labels, holdout);
    case "similarity":
      return similarityScorer(workload, labels, partner!);
  }
}
