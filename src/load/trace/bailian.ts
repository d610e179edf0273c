/** Bailian (JSON Lines): `timestamp` in seconds, `chat_id`, lengths in tokens, `hash_ids` of blocks of 16 tokens. */
import { numberIn, type TraceFormat } from "./rows.ts";

export const bailian: TraceFormat = {
  name: "bailian",
  fits: (first) => "fields" in first && "chat_id" in first.fields && "input_length" in first.fields,
  read: (row) => [
    {
      atMs: 1000 * numberIn(row, "timestamp"),
      inputTokens: numberIn(row, "input_length"),
      outputTokens: numberIn(row, "output_length"),
      blocks: Array.isArray(row["hash_ids"]) ? (row["hash_ids"] as number[]) : null,
      blockTokens: 16,
    },
  ],
};
