/**
 * Chat and text completions as OpenAI, vLLM, llama.cpp, TGI and Ollama speak them, as they were seen on the
 * wire: usage with `choices: []` or beside the last text, in every event or in none; no [DONE]; reasoning as
 * `reasoning` or `reasoning_content`.
 */
import { messageOf, reading, type Dialect, type Usage } from "../answers/reading.ts";
import type { PromptCall } from "../prompts.ts";

interface CountedTokens {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
  completion_tokens_details?: { reasoning_tokens?: number } | null;
}
interface Message {
  content?: string | null;
  refusal?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  tool_calls?: { function?: { name?: string | null; arguments?: string | null } }[] | null;
  function_call?: { name?: string; arguments?: string } | null;
}
interface Choice {
  /** Of a stream. */
  delta?: Message | null;
  /** Of a whole answer. */
  message?: Message | null;
  text?: string;
  finish_reason?: string | null;
}
interface Frame {
  error?: unknown;
  choices?: Choice[];
  usage?: CountedTokens | null;
}

export const usageOf = (counted: CountedTokens | null | undefined): Usage | null =>
  counted
    ? {
        prompt: counted.prompt_tokens,
        cached: counted.prompt_tokens_details?.cached_tokens,
        output: counted.completion_tokens,
        reasoning: counted.completion_tokens_details?.reasoning_tokens,
      }
    : null;

export const completions: Dialect = {
  doneText: "[DONE]",
  owes: { finish: true, done: true, usage: true },
  read(frame) {
    const { error, choices: given, usage } = frame as Frame;
    if (error !== undefined && error !== null) return reading({ error: messageOf(error) });
    const choices = Array.isArray(given) ? given : [];
    const messages = choices.map(({ delta, message }) => delta ?? message ?? {});
    const calls = messages.flatMap(({ tool_calls: many, function_call: one }) => [...(many ?? []).map((call) => call.function), one]);
    return reading({
      text: choices.map(({ text }, k) => `${text ?? ""}${messages[k]!.content ?? ""}${messages[k]!.refusal ?? ""}`).join(""),
      thought: messages.map((message) => (message.reasoning_content || message.reasoning) ?? "").join(""),
      call: calls.map((call) => `${call?.name ?? ""}${call?.arguments ?? ""}`).join(""),
      finishes: choices.some(({ finish_reason: reason }) => reason !== null && reason !== undefined && reason !== ""),
      usage: usageOf(usage),
    });
  },
};

const streamed = (stream: boolean): object => (stream ? { stream: true, stream_options: { include_usage: true } } : {});

export const chatBody = ({ model, prompt, maxTokens, stream }: PromptCall): object => ({
  model,
  messages: [{ role: "user", content: prompt }],
  max_tokens: maxTokens,
  temperature: 0,
  ...streamed(stream),
});

export const completionBody = ({ model, prompt, maxTokens, stream }: PromptCall): object => ({
  model,
  prompt,
  max_tokens: maxTokens,
  temperature: 0,
  ...streamed(stream),
});
