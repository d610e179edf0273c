/** BurstGPT (CSV): `Timestamp` in seconds, `Request tokens`, `Response tokens`; 0 of these is a request that failed there. */
import { numberIn, type TraceFormat } from "./rows.ts";

export const burstGpt: TraceFormat = {
  name: "burstgpt",
  fits: (first) => "columns" in first && ["Timestamp", "Request tokens", "Response tokens"].every((name) => first.columns.includes(name)),
  read: (row) => [
    {
      atMs: 1000 * numberIn(row, "Timestamp"),
      inputTokens: numberIn(row, "Request tokens"),
      outputTokens: numberIn(row, "Response tokens"),
      blocks: null,
      blockTokens: 0,
    },
  ],
};
