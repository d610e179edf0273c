/** A complete HTTP/1.1 request for a streamed chat or text completion, and prompts that are unlike each other from their first token. */
import type { RandomStream } from "../../base/index.ts";

/** Where an API is: the path is that of the base URL, without a slash at its end. */
export interface ApiPlace {
  host: string;
  port: number;
  path: string;
}

export interface CompletionCall {
  place: ApiPlace;
  api: "chat" | "completions";
  /** Bearer token; null = none. */
  key: string | null;
  model: string;
  /** Begins with `uniqueMark`, so that a number can take its place. */
  prompt: string;
  maxTokens: number;
  /** Further fields of the body, such as `ignore_eos`. */
  more: Readonly<Record<string, unknown>>;
}

/** Ten digits that the sender replaces by the request's own number. */
export const uniqueMark = "0000000000";

/** @returns the bytes and where the mark is in them */
export function encodeCompletion({ place, api, key, model, prompt, maxTokens, more }: CompletionCall): {
  bytes: Uint8Array;
  uniqueAt: number;
} {
  const asked = api === "chat" ? { messages: [{ role: "user", content: prompt }] } : { prompt };
  const fields = { model, ...asked, max_tokens: maxTokens, temperature: 0, stream: true, stream_options: { include_usage: true }, ...more };
  const body = Buffer.from(JSON.stringify(fields));
  const head = [
    `POST ${place.path}/${api === "chat" ? "chat/completions" : "completions"} HTTP/1.1`,
    `Host: ${place.host}:${place.port}`,
    "Content-Type: application/json",
    "Accept: text/event-stream",
    "Accept-Encoding: identity",
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    `Content-Length: ${body.byteLength}`,
  ];
  const start = Buffer.from(`${head.join("\r\n")}\r\n\r\n`);
  return { bytes: Buffer.concat([start, body]), uniqueAt: start.byteLength + body.indexOf(uniqueMark) };
}

const words =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name president team minute idea body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education".split(
    " ",
  );

/** A prompt of that many words behind the mark. */
export function drawPrompt(count: number, stream: RandomStream): string {
  return [uniqueMark, ...Array.from({ length: count }, () => words[stream.below(words.length)]!)].join(" ");
}
