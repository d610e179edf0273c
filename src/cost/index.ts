export { peakWhereCheaper, servingCost, type ServingCost, type ServingDemand } from "./serving-cost.ts";
