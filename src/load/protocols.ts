/** Which protocols the sender speaks: one line each. */
import { createStreamReader } from "./answers/streamed.ts";
import { createJsonReader } from "./answers/whole.ts";
import type { ExchangeNotes, ExchangeReader } from "./exchange.ts";
import { createJudge } from "./oip/infer.ts";
import { createOipReader } from "./oip/reader.ts";
import { promptApis, type PromptApiName } from "./prompts.ts";
import { createTemplateReader, type Check } from "./template/checks.ts";

/** What is spoken on the connections of a run. */
export type Speech =
  /** @param outputs that a good answer holds; null = any 200 is good */
  | { protocol: "oip"; outputs: readonly string[] | null }
  | { protocol: "prompt"; api: PromptApiName; stream: boolean }
  | { protocol: "template"; checks: readonly Check[] };

export interface Speaker {
  /** Whether the records tell of tokens. */
  tokens: boolean;
  /** A reader for one connection. */
  open(notes: ExchangeNotes): ExchangeReader;
}

export function speakerOf(speech: Speech): Speaker {
  switch (speech.protocol) {
    case "oip": {
      const judge = createJudge(speech.outputs);
      return { tokens: false, open: () => createOipReader(judge) };
    }
    case "prompt": {
      const { dialect } = promptApis[speech.api];
      const create = speech.stream ? createStreamReader : createJsonReader;
      return { tokens: true, open: (notes) => create(dialect, notes) };
    }
    case "template":
      return { tokens: false, open: (notes) => createTemplateReader(speech.checks, notes) };
  }
}
