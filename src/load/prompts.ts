/**
 * Requests that hold a prompt, for every protocol that takes one: where each call goes, what its body is and
 * how its answers are read. A new protocol is a folder of its own and a line here.
 */
import type { RandomStream } from "../base/index.ts";
import { messages, messagesBody } from "./anthropic/messages.ts";
import type { Dialect } from "./answers/reading.ts";
import type { EncodedRequest, Place } from "./http/request.ts";
import { encodePost, uniqueMark } from "./http/request.ts";
import { chatBody, completionBody, completions } from "./openai/chat.ts";
import { embeddings, embeddingsBody } from "./openai/embeddings.ts";
import { responses, responsesBody } from "./openai/responses.ts";
import { generate, generateBody } from "./triton/generate.ts";

export interface PromptCall {
  model: string;
  /** Holds `uniqueMark` once, so that a number can take its place. */
  prompt: string;
  maxTokens: number;
  stream: boolean;
}

interface PromptApi {
  dialect: Dialect;
  /** Behind the base URL. */
  path(call: PromptCall): string;
  body(call: PromptCall): object;
  headers(key: string | null): Readonly<Record<string, string>>;
  /** Whether it can stream. */
  streams: boolean;
}

const bearer = (key: string | null): Record<string, string> => (key === null ? {} : { Authorization: `Bearer ${key}` });

export const promptApis = {
  "openai-chat": { dialect: completions, path: () => "/chat/completions", body: chatBody, headers: bearer, streams: true },
  "openai-completions": { dialect: completions, path: () => "/completions", body: completionBody, headers: bearer, streams: true },
  "openai-responses": { dialect: responses, path: () => "/responses", body: responsesBody, headers: bearer, streams: true },
  "openai-embeddings": { dialect: embeddings, path: () => "/embeddings", body: embeddingsBody, headers: bearer, streams: false },
  "anthropic-messages": {
    dialect: messages,
    path: () => "/messages",
    body: messagesBody,
    headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key !== null && { "x-api-key": key }) }),
    streams: true,
  },
  "triton-generate": {
    dialect: generate,
    path: ({ model, stream }) => `/v2/models/${encodeURIComponent(model)}/generate${stream ? "_stream" : ""}`,
    body: generateBody,
    headers: bearer,
    streams: true,
  },
} as const satisfies Record<string, PromptApi>;
export type PromptApiName = keyof typeof promptApis;
export const promptApiNames = Object.keys(promptApis) as [PromptApiName, ...PromptApiName[]];

/** @param more further fields of the body, which win */
export function encodePrompt(
  name: PromptApiName,
  place: Place,
  key: string | null,
  call: PromptCall,
  more: Readonly<Record<string, unknown>>,
): EncodedRequest {
  const api: PromptApi = promptApis[name];
  return encodePost(
    place,
    api.path(call),
    { ...(call.stream && { Accept: "text/event-stream" }), ...api.headers(key) },
    Buffer.from(JSON.stringify({ ...api.body(call), ...more })),
  );
}

const words =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name president team minute idea body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education".split(
    " ",
  );

/** That many words, each behind a space. */
export const drawWords = (count: number, stream: Pick<RandomStream, "below">): string =>
  Array.from({ length: count }, () => ` ${words[stream.below(words.length)]!}`).join("");

/** A prompt of that many words behind what all of a run share and the mark that makes it unlike the others. */
export const promptOf = (shared: string, own: string): string => `${shared}${uniqueMark}${own}`;
