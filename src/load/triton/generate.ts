/** Triton's generate extension: every event is an answer of the model; neither a finish reason, usage nor a last event exist. */
import { messageOf, reading, type Dialect } from "../answers/reading.ts";
import type { PromptCall } from "../prompts.ts";

interface Answer {
  error?: unknown;
  text_output?: unknown;
}

export const generate: Dialect = {
  owes: { finish: false, done: false, usage: false },
  read(frame) {
    const { error, text_output: output } = frame as Answer;
    if (error !== undefined) return reading({ error: messageOf(error) });
    return reading({ text: typeof output === "string" ? output : Array.isArray(output) ? output.join("") : "" });
  },
};

export const generateBody = ({ prompt, maxTokens }: PromptCall): object => ({ text_input: prompt, max_tokens: maxTokens });
