export { loadDataset, type Dataset, type Part } from "./dataset.ts";
export { draftWorkload, type DraftOptions } from "./draft.ts";
export { insideFolder } from "./read.ts";
export type { ItemScore, Metric } from "./score/index.ts";
