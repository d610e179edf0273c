export { closeness, type Closeness } from "./closeness.ts";
export { holm, meanAndSd, meanInterval, pairedRatio, pairsToSee, smallestVisibleRatio, type Interval, type PairedRatio } from "./paired.ts";
export { clopperPearson, wilsonInterval } from "./binomial.ts";
export { certifiedUpperBound, percentile, percentileCurve, percentileInterval, sampleFloor, type PercentileInterval } from "./quantile.ts";
export { bootstrapMean, excludableDrop, pairedProportions } from "./bootstrap.ts";
export { unpairedRatio, type UnpairedRatio } from "./unpaired.ts";
