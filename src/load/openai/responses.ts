/** OpenAI's Responses API: named events, of which the deltas bring tokens and `response.completed` the usage. */
import { messageOf, reading, type Dialect, type Usage } from "../answers/reading.ts";
import type { PromptCall } from "../prompts.ts";

interface CountedTokens {
  input_tokens?: number;
  output_tokens?: number;
  input_tokens_details?: { cached_tokens?: number } | null;
  output_tokens_details?: { reasoning_tokens?: number } | null;
}
interface Part {
  text?: string;
  refusal?: string;
}
interface Whole {
  error?: unknown;
  status?: string;
  incomplete_details?: { reason?: string } | null;
  usage?: CountedTokens | null;
  output?: { type?: string; content?: Part[] | null; summary?: Part[] | null; name?: string; arguments?: string }[];
}
interface Frame extends Whole {
  type?: string;
  object?: string;
  delta?: unknown;
  message?: string;
  response?: Whole;
}

const usageOf = (counted: CountedTokens | null | undefined): Usage | null =>
  counted
    ? {
        prompt: counted.input_tokens,
        cached: counted.input_tokens_details?.cached_tokens,
        output: counted.output_tokens,
        reasoning: counted.output_tokens_details?.reasoning_tokens,
      }
    : null;

const ended = ({ status, incomplete_details: cut }: Whole): boolean =>
  status === "completed" || (status === "incomplete" && cut?.reason === "max_output_tokens");
const textOf = (parts: readonly Part[] | null | undefined): string =>
  (parts ?? []).map(({ text, refusal }) => `${text ?? ""}${refusal ?? ""}`).join("");

function readWhole(whole: Whole): ReturnType<Dialect["read"]> {
  const { error, output, usage } = whole;
  if (error !== undefined && error !== null) return reading({ error: messageOf(error) });
  const of = (type: string): NonNullable<Whole["output"]> => (output ?? []).filter((item) => item.type === type);
  return reading({
    text: of("message")
      .map(({ content }) => textOf(content))
      .join(""),
    thought: of("reasoning")
      .map(({ content, summary }) => textOf(content) || textOf(summary))
      .join(""),
    call: of("function_call")
      .map(({ name, arguments: given }) => `${name ?? ""}${given ?? ""}`)
      .join(""),
    finishes: ended(whole),
    usage: usageOf(usage),
  });
}

export const responses: Dialect = {
  owes: { finish: true, done: true, usage: true },
  read(frame) {
    const { type, delta, message, response, error, object } = frame as Frame;
    if (object === "response" || type === undefined) return readWhole(frame as Frame);
    const added = typeof delta === "string" ? delta : "";
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return reading({ text: added });
      case "response.reasoning_text.delta":
      case "response.reasoning.delta":
      case "response.reasoning_summary_text.delta":
        return reading({ thought: added });
      case "response.function_call_arguments.delta":
        return reading({ call: added });
      case "response.completed":
      case "response.incomplete":
        return reading({ finishes: ended(response ?? {}), done: true, usage: usageOf(response?.usage) });
      case "response.failed":
        return reading({ error: messageOf(response?.error ?? "the response failed") });
      case "error":
        return reading({ error: message ?? messageOf(error ?? "an error event") });
      default:
        return reading({});
    }
  },
};

export const responsesBody = ({ model, prompt, maxTokens, stream }: PromptCall): object => ({
  model,
  input: prompt,
  max_output_tokens: maxTokens,
  ...(stream && { stream: true }),
});
