export { logGamma, regularizedBeta } from "./beta.ts";
export { studentCdf, studentQuantile } from "./student-t.ts";
export { holm, meanAndSd, meanInterval, pairedRatio, pairsToSee, smallestVisibleRatio, type Interval, type PairedRatio } from "./paired.ts";
