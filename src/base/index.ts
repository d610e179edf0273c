export { AssayError, asAssayError, errorCatalogue, type ErrorCode, type ErrorKind } from "./errors.ts";
export { canonicalJson, roundNumbers, type Json } from "./canonical-json.ts";
export { digestBytes, digestJson, shortDigest } from "./digest.ts";
export { figure, formatBytes, parseBytes, parseDurationMs } from "./units.ts";
export { randomStream, type RandomStream } from "./random.ts";
export { redact } from "./redact.ts";
