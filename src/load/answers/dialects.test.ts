import { describe, expect, it } from "vitest";
import { readAnswer, wire, type Pieces, type ReadAnswer } from "../../../test/fixtures/exchanges.ts";
import { randomStream } from "../../base/index.ts";
import { promptApis, type PromptApiName } from "../prompts.ts";

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
const stream = (api: PromptApiName, pieces: Pieces): ReadAnswer => readAnswer(promptApis[api].dialect, "stream", pieces);
const whole = (api: PromptApiName, body: unknown, status = 200): ReadAnswer => {
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`;
  return readAnswer(promptApis[api].dialect, "whole", [[7, head + text]]);
};

describe("answers of real servers, in whatever pieces they come", () => {
  it.each([
    ["vllm-messages-stream", "anthropic-messages", "stream", "good", 4, 8, 4],
    ["triton-generate-stream", "triton-generate", "stream", "good", 3, 0, 0],
    ["triton-generate-stream-error-mid", "triton-generate", "stream", "stream_error", 2, 0, 0],
    ["triton-generate-stream-error-first", "triton-generate", "stream", "http_error", 0, 0, 0],
    ["triton-generate", "triton-generate", "whole", "good", 0, 0, 0],
    ["triton-generate-many-on-unary", "triton-generate", "whole", "stream_error", 0, 0, 0],
    ["triton-generate-error", "triton-generate", "whole", "http_error", 0, 0, 0],
    ["vllm-chat", "openai-chat", "whole", "good", 0, 8, 4],
    ["vllm-completion", "openai-completions", "whole", "good", 0, 8, 6],
    ["llama-cpp-chat", "openai-chat", "whole", "good", 0, 18, 4],
    ["llama-cpp-tools", "openai-chat", "whole", "good", 0, 18, 2],
    ["llama-cpp-embed-empty-list", "openai-embeddings", "whole", "http_error", 0, 0, 0],
  ] as const)("%s, read as %s", (name, api, form, outcome, frames, promptTokens, outputTokens) => {
    const bytes = wire(name);
    const { dialect } = promptApis[api];
    const once = readAnswer(dialect, form, [[1, bytes]]);
    expect(once.exchange).toMatchObject({ outcome });
    expect(once.exchange.tokens).toMatchObject({ frames, promptTokens, outputTokens });
    if (outcome !== "good") expect(once.peculiarities[0]).toMatch(/^(HTTP \d+|an error under HTTP 200): /);
    const random = randomStream(name, "cuts");
    for (let trial = 0; trial < 30; trial++) {
      const cuts = Array.from({ length: 1 + random.below(8) }, () => random.below(bytes.length)).sort((a, b) => a - b);
      const ends = [...cuts, bytes.length];
      const pieces = ends
        .map((to, k) => [1, bytes.subarray(k === 0 ? 0 : ends[k - 1], to)] as const)
        .filter(([, { length }]) => length > 0);
      expect({ ...readAnswer(dialect, form, pieces).exchange, answer: null }).toEqual({ ...once.exchange, answer: null });
    }
  });
});

describe("OpenAI's responses", () => {
  const delta = (kind: string, text: string): string => event(`response.${kind}.delta`, { delta: text });
  const end = (fields: object): string => event("response.completed", { response: { status: "completed", ...fields } });

  it("stream reasoning, then text; usage comes with the last event", () => {
    const { exchange, peculiarities } = stream("openai-responses", [
      [0, streamHead + event("response.created", { response: { status: "in_progress" } })],
      [100, delta("reasoning_summary_text", "hm")],
      [300, delta("output_text", "an")],
      [320, delta("output_text", "swer")],
      [321, event("response.output_text.done", { text: "answer" })],
      [
        322,
        end({
          usage: {
            input_tokens: 30,
            output_tokens: 5,
            input_tokens_details: { cached_tokens: 16 },
            output_tokens_details: { reasoning_tokens: 2 },
          },
        }),
      ],
    ]);
    expect(exchange).toMatchObject({ outcome: "good" });
    expect(exchange.tokens).toMatchObject({
      firstAt: 100,
      visibleAt: 300,
      lastAt: 320,
      frames: 3,
      promptTokens: 30,
      cachedTokens: 16,
      outputTokens: 5,
      reasoningTokens: 2,
    });
    expect(peculiarities).toEqual([]);
  });

  it("cut by their length are good; failed, filtered, or without an end they are not", () => {
    const text = streamHead + delta("output_text", "a");
    const incomplete = (reason: string): string =>
      event("response.incomplete", { response: { status: "incomplete", incomplete_details: { reason } } });
    expect(stream("openai-responses", [[1, text + incomplete("max_output_tokens")]]).exchange.outcome).toBe("good");
    expect(stream("openai-responses", [[1, text + incomplete("content_filter")]]).exchange.outcome).toBe("stream_error");
    const failed = stream("openai-responses", [[1, text + event("response.failed", { response: { error: { message: "no memory" } } })]]);
    expect(failed).toMatchObject({ exchange: { outcome: "stream_error" }, peculiarities: ["an error under HTTP 200: no memory"] });
    expect(stream("openai-responses", [[1, text + event("error", { message: "overloaded" })]]).exchange.outcome).toBe("stream_error");
    expect(stream("openai-responses", [[1, text]]).exchange.outcome).toBe("stream_error");
  });

  it("count the parts of function calls", () => {
    const call = delta("function_call_arguments", '{"a":') + delta("function_call_arguments", "1}");
    expect(stream("openai-responses", [[1, streamHead + call + end({})]]).exchange).toMatchObject({
      outcome: "good",
      tokens: { frames: 2 },
    });
  });

  it("come whole, with output or a reason why not", () => {
    const output = [{ type: "message", content: [{ type: "output_text", text: "hello" }] }];
    const usage = { input_tokens: 3, output_tokens: 9 };
    const good = whole("openai-responses", { object: "response", status: "completed", output, usage });
    expect(good.exchange).toMatchObject({ outcome: "good", tokens: { promptTokens: 3, outputTokens: 9, lastAt: 7 } });
    expect(good.exchange.tokens!.firstAt).toBeNaN();
    expect(whole("openai-responses", { object: "response", status: "completed", output: [] }).exchange.outcome).toBe("protocol_error");
    expect(whole("openai-responses", { object: "response", status: "failed", error: { message: "x" } }).exchange.outcome).toBe(
      "stream_error",
    );
  });
});

describe("Anthropic's messages", () => {
  it("count thinking as tokens that are not visible, cached tokens with the prompt, and an overload as an error", () => {
    const open = event("message_start", { message: { usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 } } });
    const delta = (fields: object): string => event("content_block_delta", { index: 0, delta: fields });
    const { exchange } = stream("anthropic-messages", [
      [0, streamHead + open + event("ping", {})],
      [50, delta({ type: "thinking_delta", thinking: "hm" })],
      [90, delta({ type: "text_delta", text: "yes" })],
      [95, event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 12 } }) + event("message_stop", {})],
    ]);
    expect(exchange).toMatchObject({ outcome: "good" });
    expect(exchange.tokens).toMatchObject({ firstAt: 50, visibleAt: 90, promptTokens: 100, cachedTokens: 90, outputTokens: 12 });
    const overloaded = stream("anthropic-messages", [
      [0, streamHead + open + delta({ text: "a" }) + event("error", { error: { type: "overloaded_error", message: "Overloaded" } })],
    ]);
    expect(overloaded).toMatchObject({ exchange: { outcome: "stream_error" }, peculiarities: ["an error under HTTP 200: Overloaded"] });
  });
});

describe("openai-embeddings", () => {
  it("are good with a vector, of numbers or in base64, and not with an empty one", () => {
    const usage = { prompt_tokens: 6, total_tokens: 6 };
    for (const embedding of [[0.1, -0.2], "zczMPc3MTL4="])
      expect(whole("openai-embeddings", { data: [{ embedding }], usage }).exchange).toMatchObject({
        outcome: "good",
        tokens: { promptTokens: 6 },
      });
    for (const data of [[{ embedding: [] }], [], undefined])
      expect(whole("openai-embeddings", { data, usage }).exchange.outcome).toBe("protocol_error");
  });
});
