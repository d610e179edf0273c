export { payBack, type PayBack } from "./pay-back.ts";
export { peakWhereCheaper, servingCost, type ServingCost, type ServingDemand } from "./serving-cost.ts";
