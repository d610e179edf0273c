export { entryUrl } from "./entry.ts";
export { flushFolder, writeWhole } from "./files.ts";
export { cacheFolder, describeMachine, type Machine } from "./machine.ts";
export { dieWithParent } from "./parent.ts";
export { hostTicks, usageOf, type HostTicks, type Usage } from "./usage.ts";
