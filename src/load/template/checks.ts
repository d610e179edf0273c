/** Plain HTTP by template: what a good answer must hold, by JSONPath. */
import { z } from "zod";
import { byStatus, createWholeReader } from "../answers/whole.ts";
import type { ExchangeNotes, ExchangeReader } from "../exchange.ts";
import { lookUp } from "./json-path.ts";

export const checkSchema = z
  .strictObject({
    path: z.string().describe("JSONPath into the answer, such as $.outputs[0].score"),
    equals: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional().describe("value that must be there; absent = any"),
    least: z.number().optional().describe("smallest number allowed"),
    most: z.number().optional().describe("largest number allowed"),
  })
  .describe("a condition on a good answer");
export type Check = z.infer<typeof checkSchema>;

/** What breaks the check; null = nothing. */
export function breachOf({ path, equals, least, most }: Check, answer: unknown): string | null {
  const found = lookUp(answer, path);
  if (found === undefined) return `${path} is not there`;
  if (equals !== undefined && found !== equals) return `${path} is ${JSON.stringify(found)}, not ${JSON.stringify(equals)}`;
  if (least === undefined && most === undefined) return null;
  if (typeof found !== "number") return `${path} is no number`;
  return found < (least ?? found) || found > (most ?? found) ? `${path} is ${found}, out of its limits` : null;
}

/** Reads answers to a template: any 2xx that keeps every check is good. */
export function createTemplateReader(checks: readonly Check[], notes: ExchangeNotes): ExchangeReader {
  return createWholeReader(({ status, body }) => {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
    const bad = byStatus(status);
    if (bad === "http_error") notes.peculiarity(`HTTP ${status}: ${text.slice(0, 200)}`);
    if (bad !== null || checks.length === 0) return bad ?? "good";
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      notes.peculiarity(`${status} with an answer that is no JSON`);
      return "protocol_error";
    }
    for (const check of checks) {
      const breach = breachOf(check, answer);
      if (breach === null) continue;
      notes.peculiarity(`a check fails: ${breach.slice(0, 200)}`);
      return "protocol_error";
    }
    return "good";
  });
}
