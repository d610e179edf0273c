/** What the stamps of one streamed answer say about its tokens. Times in milliseconds of the sender's clock. */

export interface TokenTimes {
  /** Read that completed the first token-bearing event; NaN = none came. */
  firstAt: number;
  /** The first whose tokens a user sees: no reasoning; NaN = none. */
  visibleAt: number;
  lastAt: number;
  /** Token-bearing events. */
  frames: number;
  /** Tokens of the first of them, where cumulative usage tells; 0 = not told. */
  firstTokens: number;
  /** The longest gap between two of them. */
  longestGapMs: number;
  /** What the server counted; 0 = not told. */
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

export const noTokens = (): TokenTimes => ({
  firstAt: Number.NaN,
  visibleAt: Number.NaN,
  lastAt: Number.NaN,
  frames: 0,
  firstTokens: 0,
  longestGapMs: 0,
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
});

/** Notes a token-bearing event; returns the gap to the one before, or NaN. */
export function noteFrame(tokens: TokenTimes, at: number, visible: boolean): number {
  const gap = at - tokens.lastAt;
  if (tokens.frames++ === 0) tokens.firstAt = at;
  else if (gap > tokens.longestGapMs) tokens.longestGapMs = gap;
  if (visible && Number.isNaN(tokens.visibleAt)) tokens.visibleAt = at;
  tokens.lastAt = at;
  return gap;
}
