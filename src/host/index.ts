export { entryUrl } from "./entry.ts";
export { flushFolder, writeWhole } from "./files.ts";
export { dieWithParent } from "./parent.ts";
