/** What one event of a stream, or one whole answer, means: every protocol says it in these words. */

export interface Usage {
  /** As the server counted; absent = not told. */
  prompt?: number | undefined;
  cached?: number | undefined;
  /** Reasoning included. */
  output?: number | undefined;
  reasoning?: number | undefined;
}

export interface Reading {
  /** What a user sees. */
  text: string;
  /** Reasoning. */
  thought: string;
  /** Part of a tool call. */
  call: string;
  /** Results that are no text, such as embeddings. */
  results: number;
  /** The model said why it stopped. */
  finishes: boolean;
  /** Nothing comes after it. */
  done: boolean;
  /** Message of an error under HTTP 200; null = none. */
  error: string | null;
  usage: Usage | null;
}

/** An event that tells nothing. */
const nothing: Reading = { text: "", thought: "", call: "", results: 0, finishes: false, done: false, error: null, usage: null };
export const reading = (what: Partial<Reading>): Reading => ({ ...nothing, ...what });

/** The message of an error that servers give as text or as an object. */
export function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const { message } = error as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(error);
}

/** How a protocol's answers are read. */
export interface Dialect {
  /** @param frame the parsed JSON, an object; @param name the event's name, "" without one */
  read(frame: object, name: string): Reading;
  /** Data of the event that ends a stream, where it is no JSON: `[DONE]`. */
  doneText?: string;
  /** What a stream owes at its end. */
  owes: { finish: boolean; done: boolean; usage: boolean };
}
