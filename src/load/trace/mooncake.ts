/** Mooncake (JSON Lines): `timestamp` in milliseconds, lengths in tokens, `hash_ids` of blocks of 512 tokens. */
import { numberIn, type TraceFormat } from "./rows.ts";

export const mooncake: TraceFormat = {
  name: "mooncake",
  fits: (first) => "fields" in first && "input_length" in first.fields && "output_length" in first.fields,
  read: (row) => [
    {
      atMs: numberIn(row, "timestamp"),
      inputTokens: numberIn(row, "input_length"),
      outputTokens: numberIn(row, "output_length"),
      blocks: Array.isArray(row["hash_ids"]) ? (row["hash_ids"] as number[]) : null,
      blockTokens: 512,
    },
  ],
};
