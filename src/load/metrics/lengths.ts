/** Lengths of prompts and answers in tokens. */
import type { RequestMetric } from "./metric.ts";

export const inputLength: RequestMetric = {
  tag: "input",
  title: "input length",
  unit: "tokens",
  formula: "prompt tokens as the server counted",
  exception: "an answer without usage",
  of: (row) => row.promptTokens || Number.NaN,
};

export const outputLength: RequestMetric = {
  tag: "output",
  title: "output length",
  unit: "tokens",
  formula: "completion tokens as the server counted, reasoning included; without usage one a token-bearing event",
  exception: "a request that failed",
  of: (row) => (row.good ? row.outputTokens || Number.NaN : Number.NaN),
};
