/** Prompts for an endpoint: their lengths are fitted to the server's own count, and no two are alike unless that is asked for. */
import { randomStream } from "../../base/index.ts";
import { drawLength, drawWords, encodePrompt, promptOf, type EncodedRequest, type Speech, type TraceRequest } from "../../load/index.ts";
import { askOnce, type Caller, type CallerBase } from "./caller.ts";
import { placeOf } from "./place.ts";
import type { PromptEndpoint } from "./question.ts";

/** Prompts to draw from; each is sent with a number of its own in it. */
const pool = { fixed: 64, drawn: 512 } as const;
/** Words of the first prompt that tells how the server counts, and most of the second. */
const probes = { first: 10, most: 220 } as const;
/** Tokens of a word where the server does not tell. */
const usualTokensPerWord = 1.2;

/** Tokens of a prompt = fixed + perWord × words. */
interface Fit {
  fixed: number;
  perWord: number;
}

function requestOf(endpoint: PromptEndpoint, key: string | null, shared: string, own: string, maxTokens: number): EncodedRequest {
  const { api, url, model, stream, more } = endpoint;
  return encodePrompt(api, placeOf(url), key, { model, prompt: promptOf(shared, own), maxTokens, stream }, more);
}

/**
 * Two prompts of a few words tell how the server counts; the second is about as long as what is asked for, so
 * that it fits where that fits. A server that counts only in whole answers is asked for those.
 */
async function fitTo(endpoint: PromptEndpoint, key: string | null, base: CallerBase, signal: AbortSignal): Promise<Fit> {
  const stream = randomStream(base.seed, "probes");
  const counted = async (words: number, streamed: boolean): Promise<number> => {
    const asked = { ...endpoint, stream: streamed };
    const request = requestOf(asked, key, "", drawWords(words, stream), 1);
    const { table } = await askOnce(endpoint.url, base, { protocol: "prompt", api: endpoint.api, stream: streamed }, request, signal);
    return table.tokens?.promptTokens[0] ?? 0;
  };
  let streamed = endpoint.stream;
  let few = await counted(probes.first, streamed);
  // A server may stream and nothing else.
  if (few === 0 && streamed) few = await counted(probes.first, (streamed = false)).catch(() => 0);
  signal.throwIfAborted();
  if (few === 0) return { perWord: usualTokensPerWord, fixed: 0 };
  const typical = Math.round((drawLength(endpoint.input, stream) * probes.first) / few);
  const words = Math.min(probes.most, Math.max(2 * probes.first, typical));
  const many = await counted(words, streamed);
  const perWord = many > few ? (many - few) / (words - probes.first) : usualTokensPerWord;
  return { perWord, fixed: few - perWord * probes.first };
}

/** Asks the endpoint how it counts, and makes ready. Throws ENDPOINT_REFUSES. */
export async function callWithPrompts(
  endpoint: PromptEndpoint,
  key: string | null,
  base: CallerBase,
  signal: AbortSignal,
): Promise<Caller> {
  const { api, stream: streamed, input, output, sharedRatio } = endpoint;
  const speech: Speech = { protocol: "prompt", api, stream: streamed };
  const { fixed, perWord } = await fitTo(endpoint, key, base, signal);
  const wordsOf = (tokens: number): number => Math.max(1, Math.round((tokens - fixed) / perWord));

  const drawn = (seed: string): EncodedRequest[] => {
    const lengths = randomStream(seed, "lengths");
    const texts = randomStream(seed, "prompts");
    const common = randomStream(seed, "shared prefix");
    let prefix: string[] = [];
    const shared = (words: number): string => {
      if (words > prefix.length) prefix = [...prefix, ...drawWords(words - prefix.length, common).split(/(?= )/)];
      return prefix.slice(0, words).join("");
    };
    const same = input.kind === "fixed" && output.kind === "fixed";
    return Array.from({ length: same ? pool.fixed : pool.drawn }, () => {
      const words = wordsOf(drawLength(input, lengths));
      const alike = Math.round(words * sharedRatio);
      return requestOf(endpoint, key, shared(alike), drawWords(words - alike, texts), drawLength(output, lengths));
    });
  };

  const recorded = (seed: string, trace: readonly TraceRequest[]): EncodedRequest[] => {
    const texts = randomStream(seed, "prompts");
    const blockText = (id: number | string, tokens: number): string =>
      drawWords(Math.max(1, Math.round(tokens / perWord)), randomStream(seed, "block", id));
    return trace.map(({ inputTokens, outputTokens, blocks, blockTokens }) => {
      const most = Math.max(1, outputTokens);
      if (!blocks) return requestOf(endpoint, key, "", drawWords(wordsOf(inputTokens), texts), most);
      const text = blocks.map((id, k) => blockText(id, Math.max(1, Math.min(blockTokens, inputTokens - k * blockTokens)))).join("");
      return requestOf(endpoint, key, text, "", most);
    });
  };

  return { speech, requests: (seed, trace) => (trace ? recorded(seed, trace) : drawn(seed)) };
}
