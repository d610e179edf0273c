export { checkSchema } from "./checks.ts";
export { parsePath } from "./json-path.ts";
