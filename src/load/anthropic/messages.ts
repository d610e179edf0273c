/** Anthropic's messages: named events, of which the deltas of content blocks bring tokens and `message_delta` the usage. */
import { messageOf, reading, type Dialect, type Usage } from "../answers/reading.ts";
import type { PromptCall } from "../prompts.ts";

interface CountedTokens {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
}
interface Block {
  type?: string;
  text?: string;
  thinking?: string;
  partial_json?: string;
  name?: string;
  input?: unknown;
}
interface Message {
  content?: Block[];
  stop_reason?: string | null;
  usage?: CountedTokens | null;
}
interface Frame extends Message {
  type?: string;
  error?: unknown;
  message?: Message;
  delta?: Block & { stop_reason?: string | null };
}

/** Its input tokens leave out those that came out of the cache or went into it. */
function usageOf(counted: CountedTokens | null | undefined): Usage | null {
  if (!counted) return null;
  const { input_tokens: input, cache_read_input_tokens: cached, cache_creation_input_tokens: kept, output_tokens: output } = counted;
  return {
    prompt: input === undefined ? undefined : input + (cached ?? 0) + (kept ?? 0),
    cached: cached ?? undefined,
    // `message_start` announces few or none; what counts is told at the end.
    output: output || undefined,
  };
}

const stops = (reason: string | null | undefined): boolean => reason !== null && reason !== undefined;

export const messages: Dialect = {
  owes: { finish: true, done: true, usage: true },
  read(frame) {
    const { type, error, message, delta, content, stop_reason: reason, usage } = frame as Frame;
    switch (type) {
      case "message": {
        const blocks = content ?? [];
        return reading({
          text: blocks.map(({ text }) => text ?? "").join(""),
          thought: blocks.map(({ thinking }) => thinking ?? "").join(""),
          call: blocks.map((block) => (block.type === "tool_use" ? `${block.name}${JSON.stringify(block.input)}` : "")).join(""),
          finishes: stops(reason),
          usage: usageOf(usage),
        });
      }
      case "message_start": {
        const counted = usageOf(message?.usage);
        return reading({ usage: counted && { ...counted, output: undefined } });
      }
      case "content_block_delta":
        return reading({ text: delta?.text ?? "", thought: delta?.thinking ?? "", call: delta?.partial_json ?? "" });
      case "message_delta":
        return reading({ finishes: stops(delta?.stop_reason), usage: usageOf(usage) });
      case "message_stop":
        return reading({ done: true });
      default:
        return error === undefined ? reading({}) : reading({ error: messageOf(error) });
    }
  },
};

export const messagesBody = ({ model, prompt, maxTokens, stream }: PromptCall): object => ({
  model,
  max_tokens: maxTokens,
  messages: [{ role: "user", content: prompt }],
  ...(stream && { stream: true }),
});
