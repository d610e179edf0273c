/** What a command hands to other tools beside its run folder, and the exit status that CI sees. */
import { resolve } from "node:path";
import { AssayError } from "../base/index.ts";
import type { Verdict } from "../decide/index.ts";
import { writeWhole } from "../host/index.ts";
import { renderJUnit, renderMarkdown } from "../report/index.ts";

export interface ExchangeOptions {
  markdown?: string;
  junit?: string;
  failOn?: string;
}

type AnswerKind = Verdict["answer"]["kind"];
const exitOf: Record<AnswerKind, number> = { winner: 0, keep: 0, "no-difference": 0, "none-meets": 3, "cannot-tell": 4 };
/** The exit status for an answer that --fail-on names. */
const failedOn = 5;

/** The kinds that --fail-on names; null = not given. Throws USAGE. */
export function failKinds(text: string | undefined): ReadonlySet<AnswerKind> | null {
  if (text === undefined) return null;
  const known = Object.keys(exitOf) as AnswerKind[];
  return new Set(
    text.split(",").map((part) => {
      const kind = known.find((one) => one === part.trim());
      if (!kind) throw new AssayError("USAGE", `--fail-on "${part.trim()}" is no kind of answer; the kinds are ${known.join(", ")}`);
      return kind;
    }),
  );
}

/** The exit status of an answer: its own, or with --fail-on 5 for the kinds it names and 0 for the others. */
export function statusOf({ answer }: Verdict, failOn: ReadonlySet<AnswerKind> | null): number {
  if (failOn === null) return exitOf[answer.kind];
  return failOn.has(answer.kind) ? failedOn : 0;
}

export function writeExchange(verdict: Verdict, { markdown, junit }: ExchangeOptions): void {
  if (markdown !== undefined) writeWhole(resolve(markdown), renderMarkdown(verdict));
  if (junit !== undefined) writeWhole(resolve(junit), renderJUnit(verdict));
}
