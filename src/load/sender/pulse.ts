/** How the run goes, of the requests that ended, for whoever watches it. */
import type { LoadTick } from "../plan.ts";
import { outcomeClasses, outcomeNumber } from "../records.ts";
import type { Pending } from "./ledger.ts";

const good = outcomeNumber("good");

export interface Pulse {
  ended(pending: Pending, at: number): void;
  lag(ms: number): void;
  /** What there is to tell since the last time. */
  take(at: number, inFlight: number, waiting: number): LoadTick;
}

export function createPulse(windowStart: number): Pulse {
  const ended = outcomeClasses.map(() => 0);
  /** Of the requests that ended well since the last tick. */
  const recent = { count: 0, latencyMs: 0, firsts: 0, ttftMs: 0, tokens: 0, lagMs: 0 };
  return {
    ended({ block: { table }, row, due }, at) {
      ended[table.outcome[row]!]!++;
      if (table.outcome[row] !== good) return;
      recent.count++;
      recent.latencyMs += at - due;
      const { tokens } = table;
      if (!tokens) return;
      recent.tokens += tokens.outputTokens[row]! || tokens.frames[row]!;
      if (Number.isNaN(tokens.firstTokenNs[row]!)) return;
      recent.firsts++;
      recent.ttftMs += tokens.firstTokenNs[row]! / 1e6 - (due - windowStart);
    },
    lag: (ms) => void (ms > recent.lagMs && (recent.lagMs = ms)),
    take(at, inFlight, waiting) {
      const { count, latencyMs, firsts, ttftMs, tokens, lagMs } = recent;
      Object.assign(recent, { count: 0, latencyMs: 0, firsts: 0, ttftMs: 0, tokens: 0, lagMs: 0 });
      return {
        atMs: at - windowStart,
        inFlight,
        waiting,
        ended: [...ended],
        latencyMs: latencyMs / count,
        ttftMs: ttftMs / firsts,
        tokens,
        lagMs,
      };
    },
  };
}
