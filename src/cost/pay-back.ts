/** When what the tuning cost comes back through cheaper requests. Pure. */

export interface PayBackFacts {
  /** What finding and building the candidate cost, US dollars. */
  tuningUsd: number;
  /** Lower bound of what a good request becomes cheaper by, US dollars. */
  savedPerRequestUsd: number;
  requestsPerDay: number;
  /** Days until the stack changes. */
  lifetimeDays: number;
}

export interface PayBack {
  /** Good requests that bring the cost back; null = none does, nothing is saved for certain. */
  requests: number | null;
  /** The day on which it has come back, from 1; null = never within the lifetime. */
  day: number | null;
}

/** N* = tuning cost ÷ lower bound of the saving per request; it pays when N* < requests of the whole lifetime. */
export function payBack({ tuningUsd, savedPerRequestUsd, requestsPerDay, lifetimeDays }: PayBackFacts): PayBack {
  if (!(savedPerRequestUsd > 0)) return { requests: null, day: null };
  const requests = tuningUsd / savedPerRequestUsd;
  const day = Math.max(1, Math.ceil(requests / requestsPerDay));
  return { requests, day: requests < requestsPerDay * lifetimeDays ? day : null };
}
