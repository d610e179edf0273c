/** Time per output token after the first, of one request. */
import { ifGood, type RequestMetric } from "./metric.ts";

export const tpot: RequestMetric = {
  tag: "tpot",
  title: "time per output token",
  unit: "ms",
  formula: "(last token-bearing event − first) ÷ (output tokens − tokens of the first event)",
  exception: "an answer with no token after the first event",
  of: (row) => {
    const tokens = row.outputTokens - row.firstTokens;
    return ifGood(row, tokens < 1 ? Number.NaN : (row.last - row.first) / tokens);
  },
};
