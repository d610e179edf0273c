export { parseTrace, type Trace } from "./trace.ts";
export type { TraceRequest } from "./rows.ts";
