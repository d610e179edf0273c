/** Weka (JSON Lines): sessions with `requests` of `t` in seconds, `in` and `out` tokens, `hash_ids` of blocks of 64 tokens. */
import { numberIn, type TraceFormat } from "./rows.ts";

export const weka: TraceFormat = {
  name: "weka",
  fits: (first) => "fields" in first && Array.isArray(first.fields["requests"]),
  read(row) {
    if (!Array.isArray(row["requests"])) throw new Error('"requests" is no list');
    return (row["requests"] as Record<string, unknown>[]).map((request) => ({
      atMs: 1000 * numberIn(request, "t"),
      inputTokens: numberIn(request, "in"),
      outputTokens: numberIn(request, "out"),
      blocks: Array.isArray(request["hash_ids"]) ? (request["hash_ids"] as number[]) : null,
      blockTokens: 64,
    }));
  },
};
