/** Every generated file, path → text; `npm run generate` writes them, `npm run check` compares. */
import { z } from "zod";
import { errorCatalogue } from "./base/index.ts";
import { verdictSchema } from "./decide/index.ts";
import { truthScriptSchema } from "./truth/index.ts";
import { workloadJsonSchema } from "./workload/index.ts";

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

function errorsPage(): string {
  const rows = Object.entries(errorCatalogue).map(
    ([code, { title, exit, http, retryable, hint }]) =>
      `| \`${code}\` | ${title} | ${hint} | ${exit} | ${http} | ${retryable ? "yes" : "no"} |`,
  );
  return [
    "# Errors",
    "",
    "| code | what happened | the way out | exit status | HTTP status | may the same call succeed later? |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

/** The files as they should stand, by path from the root. */
export function generated(): Record<string, string> {
  return {
    "schema/workload.v1.json": json(workloadJsonSchema()),
    "schema/verdict.v1.json": json(z.toJSONSchema(verdictSchema, { target: "draft-7" })),
    "schema/truth-script.v1.json": json(z.toJSONSchema(truthScriptSchema, { target: "draft-7", io: "input" })),
    "docs/reference/errors.md": errorsPage(),
  };
}
