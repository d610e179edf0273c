/** Which protocols the sender speaks: one line each. */
import type { ExchangeNotes, ExchangeReader } from "./exchange.ts";
import { createOipReader } from "./oip/exchange.ts";
import { createJudge } from "./oip/infer.ts";
import { createOpenAiReader } from "./openai/exchange.ts";
import type { LoadPlan } from "./plan.ts";

export interface Speaker {
  /** Whether the records tell of tokens. */
  tokens: boolean;
  /** A reader for one connection. */
  open(notes: ExchangeNotes): ExchangeReader;
}

export function speakerOf(plan: Pick<LoadPlan, "protocol" | "outputs">): Speaker {
  switch (plan.protocol) {
    case "oip": {
      const judge = createJudge(plan.outputs);
      return { tokens: false, open: () => createOipReader(judge) };
    }
    case "openai":
      return { tokens: true, open: createOpenAiReader };
  }
}
