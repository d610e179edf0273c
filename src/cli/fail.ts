/** A fault as people read it on stderr. */
import { asAssayError } from "../base/index.ts";

/** Prints code, message and the way out; returns the exit status. */
export function fail(fault: unknown): number {
  const error = asAssayError(fault);
  const { title, hint, exit } = error.kind;
  process.stderr.write(`assay: ${title} (${error.code})\n  ${error.message.replaceAll("\n", "\n  ")}\n  ${hint}\n`);
  if (error.code === "INTERNAL") process.stderr.write(`${(error.cause instanceof Error ? error.cause.stack : error.stack) ?? ""}\n`);
  return exit;
}
