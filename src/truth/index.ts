export { parseTruthScript, truthScriptSchema, type TruthScript } from "./script.ts";
export { startTruthServer, type TruthServer, type WriteRecord } from "./server.ts";
