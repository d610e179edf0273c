export { peakWhereCheaper, plannedUseRatio, servingCost, type ServingCost, type ServingDemand } from "./serving-cost.ts";
