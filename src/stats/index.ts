export { logGamma, regularizedBeta } from "./beta.ts";
export { studentCdf, studentQuantile } from "./student-t.ts";
export { holm, meanAndSd, meanInterval, pairedRatio, pairsToSee, smallestVisibleRatio, type Interval, type PairedRatio } from "./paired.ts";
export { binomialCdf, clopperPearson, wilsonInterval } from "./binomial.ts";
export { normalCdf, normalQuantile } from "./normal.ts";
export {
  certifiedRank,
  certifiedUpperBound,
  percentile,
  percentileInterval,
  percentileRanks,
  sampleFloor,
  type PercentileInterval,
  type RankInterval,
} from "./quantile.ts";
export { bootstrapMean, pairedProportions } from "./bootstrap.ts";
