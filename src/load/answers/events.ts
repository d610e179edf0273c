/**
 * The events of one streamed answer: which bring tokens, and when. An event whose bytes around the text are
 * those of one that was read in full before is known by them alone; every other one is parsed and read by
 * its protocol.
 */
import { noteFrame, noTokens, type TokenTimes } from "../token-times.ts";
import type { Dialect, Reading, Usage } from "./reading.ts";

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
  event(bytes: Buffer, from: number, to: number, name: string, at: number): void;
  readonly state: StreamState;
  /** Starts the next answer. */
  reset(): void;
}

const [QUOTE, BACKSLASH] = [34, 92];
const unset = noTokens();
/** Shortest start by which an event is known: shorter ones say too little. */
const leastKnown = 16;

/** The bytes before and behind the one text that an event carries; null where it cannot be told. */
function aroundText(data: Buffer, text: string): { before: Buffer; behind: Buffer } | null {
  const quoted = Buffer.from(JSON.stringify(text));
  const at = data.indexOf(quoted);
  if (at < leastKnown || data.indexOf(quoted, at + 1) >= 0) return null;
  return { before: Buffer.from(data.subarray(0, at + 1)), behind: Buffer.from(data.subarray(at + quoted.length - 1)) };
}

/** Takes what a server counted into the times of its answer. */
export function takeUsage(tokens: TokenTimes, { prompt, cached, output, reasoning }: Usage): void {
  tokens.promptTokens = prompt ?? tokens.promptTokens;
  tokens.cachedTokens = cached ?? tokens.cachedTokens;
  tokens.outputTokens = output ?? tokens.outputTokens;
  tokens.reasoningTokens = reasoning ?? tokens.reasoningTokens;
}

/** The object that the bytes are in JSON; null where they are none. */
export function parseObject(bytes: Buffer, from: number, to: number): object | null {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", from, to));
    return value !== null && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** @param onGap the gap between two token-bearing events, milliseconds; 0 where one read brought both */
export function createFrameReader(dialect: Dialect, onGap: (ms: number) => void): FrameReader {
  const doneMark = Buffer.from(dialect.doneText ?? "");
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

  const learn = (data: Buffer, { text, thought }: Reading): void => {
    const around = aroundText(data, thought || text);
    before = around?.before ?? null;
    behind = around?.behind ?? null;
    visible = thought === "";
  };

  const take = (bytes: Buffer, from: number, to: number, name: string, at: number): void => {
    const frame = parseObject(bytes, from, to);
    if (!frame) return void state.strange++;
    const found = dialect.read(frame, name);
    const { text, thought, call, finishes, done, error, usage } = found;
    if (error !== null) {
      state.error ??= error;
      return;
    }
    const bears = text !== "" || thought !== "" || call !== "";
    if (bears) bearing(at, text !== "" || call !== "");
    state.finished ||= finishes;
    state.done ||= done;
    if (usage) {
      takeUsage(state.tokens, usage);
      if (bears && state.tokens.frames === 1) state.tokens.firstTokens = usage.output ?? 0;
    }
    // From the second on: what is read once only is not worth knowing again.
    const plain = call === "" && (thought === "") !== (text === "");
    if (plain && !finishes && !usage && state.tokens.frames > 1) learn(bytes.subarray(from, to), found);
  };

  return {
    state,
    event(bytes, from, to, name, at) {
      if (state.done || from === to) return;
      if (isKnown(bytes, from, to)) return bearing(at, visible);
      if (doneMark.length > 0 && to - from === doneMark.length && doneMark.compare(bytes, from, to) === 0) state.done = true;
      else take(bytes, from, to, name, at);
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
