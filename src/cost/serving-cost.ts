/**
 * Prices → money for replicas that serve requests. Pure. An unknown price or capacity gives no cost,
 * never 0: the caller gets null and says why.
 */

export interface ServingDemand {
  /** Requests per second at the busiest; null = pay for what one replica can carry. */
  peakPerSecond: number | null;
  /** Mean rate ÷ peak, (0–1]. */
  meanToPeakRatio: number;
  /** Good ÷ scheduled, 0–1. */
  goodRatio: number;
}

export interface ServingCost {
  /** Replicas that must run at the peak. */
  replicas: number;
  /** US dollars per million good requests. */
  perMillionGoodUsd: number;
}

/** Share of a replica's capacity that is planned for; the rest is for bursts. */
export const plannedUseRatio = 0.8;

/**
 * Replicas and cost per good request at a capacity of one replica.
 * With a stated peak: R = ⌈peak ÷ (capacity × 0.8)⌉, paid whether busy or not, over the good requests of
 * the mean rate. Without: one replica, busy to its capacity.
 * @param capacityPerSecond what one replica carries within the targets, requests per second
 * @param hourlyUsd price of one replica
 * @returns null when the capacity or the good ratio is 0
 */
export function servingCost(demand: ServingDemand, capacityPerSecond: number, hourlyUsd: number): ServingCost | null {
  if (!(capacityPerSecond > 0) || !(demand.goodRatio > 0)) return null;
  const replicas = demand.peakPerSecond === null ? 1 : Math.ceil(demand.peakPerSecond / (capacityPerSecond * plannedUseRatio));
  const goodPerHour =
    (demand.peakPerSecond === null ? capacityPerSecond : demand.peakPerSecond * demand.meanToPeakRatio) * demand.goodRatio * 3600;
  return { replicas, perMillionGoodUsd: ((replicas * hourlyUsd) / goodPerHour) * 1e6 };
}

/** The peak from which `dearer` needs more replicas than `cheaper`, requests per second; null when its capacity is not lower. */
export function peakWhereCheaper(cheaperPerSecond: number, dearerPerSecond: number): number | null {
  return cheaperPerSecond > dearerPerSecond && dearerPerSecond > 0 ? dearerPerSecond * plannedUseRatio : null;
}
