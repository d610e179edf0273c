/** Embeddings: one whole answer, a vector an input. */
import { messageOf, reading, type Dialect } from "../answers/reading.ts";
import type { PromptCall } from "../prompts.ts";
import { usageOf } from "./chat.ts";

interface Answer {
  error?: unknown;
  data?: { embedding?: unknown }[];
  usage?: Parameters<typeof usageOf>[0];
}

export const embeddings: Dialect = {
  owes: { finish: false, done: false, usage: false },
  read(frame) {
    const { error, data, usage } = frame as Answer;
    if (error !== undefined && error !== null) return reading({ error: messageOf(error) });
    // A vector of numbers, or their bytes in base64.
    const vectors = (Array.isArray(data) ? data : []).filter(({ embedding }) => typeof embedding === "string" || Array.isArray(embedding));
    return reading({
      results: vectors.filter(({ embedding }) => (embedding as string | unknown[]).length > 0).length,
      usage: usageOf(usage),
    });
  },
};

export const embeddingsBody = ({ model, prompt }: PromptCall): object => ({ model, input: prompt });
