export { loadDataset, type Dataset, type Part } from "./dataset.ts";
export { draftWorkload, type DraftOptions } from "./draft.ts";
export { plainInput, stackInputs } from "./inputs.ts";
export { insideFolder, readColumns } from "./read.ts";
export type { ItemScore, Metric } from "./score/index.ts";
