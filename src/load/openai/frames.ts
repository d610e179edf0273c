/**
 * What an event of an OpenAI stream is: tokens, a role, usage, the end, or a fault under HTTP 200. An event
 * whose bytes around the text are those of one that was read in full before is known by them alone; every
 * other one is parsed. Chat and text completions of OpenAI, vLLM, llama.cpp, TGI and Ollama, as they were
 * seen on the wire: usage with `choices: []` or beside the last text, in every event or in none; no [DONE];
 * reasoning as `reasoning` or `reasoning_content`.
 */
import { noteFrame, noTokens, type TokenTimes } from "../token-times.ts";

export interface StreamState {
  tokens: TokenTimes;
  /** The model said why it stopped. */
  finished: boolean;
  done: boolean;
  /** Message of an error event; null = none came. */
  error: string | null;
  /** Events that are no JSON, or JSON of another kind. */
  strange: number;
}

export interface FrameReader {
  /** Takes the data of one event. */
  event(bytes: Buffer, from: number, to: number, at: number): void;
  readonly state: StreamState;
  /** Starts the next answer. */
  reset(): void;
}

interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
  completion_tokens_details?: { reasoning_tokens?: number } | null;
}
interface Delta {
  content?: string | null;
  refusal?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  tool_calls?: { function?: { name?: string | null; arguments?: string | null } }[] | null;
  function_call?: { name?: string; arguments?: string } | null;
}
interface Frame {
  error?: unknown;
  object?: string;
  choices?: { delta?: Delta | null; text?: string; finish_reason?: string | null }[];
  usage?: Usage | null;
}

const [QUOTE, BACKSLASH] = [34, 92];
const unset = noTokens();
const doneMark = Buffer.from("[DONE]");
/** Shortest start by which an event is known: shorter ones say too little. */
const leastKnown = 16;

const messageOf = (error: unknown): string => {
  if (typeof error === "string") return error;
  const { message } = error as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(error);
};

/** The bytes before and behind the one text that an event carries; null where it cannot be told. */
function aroundText(data: Buffer, text: string): { before: Buffer; behind: Buffer } | null {
  const quoted = Buffer.from(JSON.stringify(text));
  const at = data.indexOf(quoted);
  if (at < leastKnown || data.indexOf(quoted, at + 1) >= 0) return null;
  return { before: Buffer.from(data.subarray(0, at + 1)), behind: Buffer.from(data.subarray(at + quoted.length - 1)) };
}

/** @param onGap the gap between two token-bearing events, milliseconds; 0 where one read brought both */
export function createFrameReader(onGap: (ms: number) => void): FrameReader {
  const state: StreamState = { tokens: noTokens(), finished: false, done: false, error: null, strange: 0 };
  let before: Buffer | null = null;
  let behind: Buffer | null = null;
  let visible = true;

  const bearing = (at: number, seen: boolean): void => {
    const gap = noteFrame(state.tokens, at, seen);
    if (state.tokens.frames > 1) onGap(gap);
  };

  const isKnown = (bytes: Buffer, from: number, to: number): boolean => {
    if (before === null || behind === null) return false;
    const text = from + before.length;
    const end = to - behind.length;
    return (
      end > text &&
      behind.compare(bytes, end, to) === 0 &&
      before.compare(bytes, from, text) === 0 &&
      // The quote that `behind` begins with is the first after the text began: nothing of the text is escaped.
      bytes.indexOf(QUOTE, text) === end &&
      bytes[end - 1] !== BACKSLASH
    );
  };

  const takeUsage = (usage: Usage): void => {
    const { tokens } = state;
    tokens.promptTokens = usage.prompt_tokens ?? tokens.promptTokens;
    tokens.outputTokens = usage.completion_tokens ?? tokens.outputTokens;
    tokens.cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? tokens.cachedTokens;
    tokens.reasoningTokens = usage.completion_tokens_details?.reasoning_tokens ?? tokens.reasoningTokens;
  };

  const parse = (bytes: Buffer, from: number, to: number, at: number): void => {
    let frame: Frame;
    try {
      frame = JSON.parse(bytes.toString("utf8", from, to)) as Frame;
    } catch {
      state.strange++;
      return;
    }
    if (frame === null || typeof frame !== "object") {
      state.strange++;
      return;
    }
    if (frame.error !== undefined && frame.error !== null) {
      state.error ??= messageOf(frame.error);
      return;
    }
    const choices = Array.isArray(frame.choices) ? frame.choices : [];
    const thoughts = choices.map(({ delta }) => (delta?.reasoning_content || delta?.reasoning) ?? "").join("");
    const calls = choices
      .flatMap(({ delta }) => [...(delta?.tool_calls ?? []).map((call) => call.function), delta?.function_call])
      .map((call) => `${call?.name ?? ""}${call?.arguments ?? ""}`)
      .join("");
    const texts = choices.map(({ delta, text }) => `${text ?? ""}${delta?.content ?? ""}${delta?.refusal ?? ""}`).join("");
    const finishes = choices.some(({ finish_reason: reason }) => reason !== null && reason !== undefined && reason !== "");
    const bears = thoughts !== "" || calls !== "" || texts !== "";
    if (bears) bearing(at, calls !== "" || texts !== "");
    state.finished ||= finishes;
    if (frame.usage) {
      takeUsage(frame.usage);
      if (bears && state.tokens.frames === 1) state.tokens.firstTokens = frame.usage.completion_tokens ?? 0;
    }
    const one = choices.length === 1 && calls === "" && (thoughts === "") !== (texts === "");
    // From the second on: what is read once only is not worth knowing again.
    if (one && !finishes && !frame.usage && state.tokens.frames > 1) {
      const around = aroundText(bytes.subarray(from, to), thoughts || texts);
      before = around?.before ?? null;
      behind = around?.behind ?? null;
      visible = thoughts === "";
    }
  };

  return {
    state,
    event(bytes, from, to, at) {
      if (state.done || from === to) return;
      if (isKnown(bytes, from, to)) return bearing(at, visible);
      if (to - from === doneMark.length && doneMark.compare(bytes, from, to) === 0) state.done = true;
      else parse(bytes, from, to, at);
    },
    reset() {
      Object.assign(state.tokens, unset);
      state.finished = state.done = false;
      state.error = null;
      state.strange = 0;
      before = behind = null;
    },
  };
}
