/** Plain HTTP by template: one request, its number and the environment's secrets put in. */
import { AssayError } from "../../base/index.ts";
import { encodeRequest, uniqueMark, type Speech } from "../../load/index.ts";
import { askOnce, type Caller, type CallerBase } from "./caller.ts";
import { placeOf } from "./place.ts";
import type { TemplateEndpoint } from "./question.ts";

/** Sends one request, and makes ready. Throws USAGE where a variable is not set, ENDPOINT_REFUSES. */
export async function callByTemplate(
  endpoint: TemplateEndpoint,
  environment: Readonly<Record<string, string | undefined>>,
  base: CallerBase,
  signal: AbortSignal,
): Promise<Caller> {
  const { url, method, path, headers, body, checks } = endpoint;
  const filled = (text: string): string =>
    text.replaceAll("${unique}", uniqueMark).replaceAll(/\$\{env:(\w+)\}/g, (_, name: string) => {
      const value = environment[name];
      if (!value) throw new AssayError("USAGE", `\${env:${name}}: the variable is not set`);
      return value;
    });
  const request = encodeRequest(
    method,
    placeOf(url),
    filled(path),
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value)])),
    Buffer.from(filled(body)),
  );
  const asks = path.includes("${unique}") || body.includes("${unique}");
  const numbered = asks ? request : { ...request, uniqueAt: undefined };
  const speech: Speech = { protocol: "template", checks };
  await askOnce(url, base, speech, request, signal);
  return { speech, requests: () => [numbered] };
}
