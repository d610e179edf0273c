import { describe, expect, it } from "vitest";
import { randomStream } from "../../base/index.ts";
import { readAnswer, wire, type Pieces, type ReadAnswer } from "../../../test/fixtures/exchanges.ts";
import { completions } from "./chat.ts";

const read = (pieces: Pieces): ReadAnswer => readAnswer(completions, "stream", pieces);

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const event = (data: unknown, end = "\n"): string => chunk(`data: ${typeof data === "string" ? data : JSON.stringify(data)}${end}${end}`);
const delta = (fields: object, finish: string | null = null): object => ({
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});
const usage = (completion: number, reasoning?: number): object => ({
  choices: [],
  usage: {
    prompt_tokens: 5,
    completion_tokens: completion,
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  },
});
const last = "0\r\n\r\n";

describe("an OpenAI stream", () => {
  it("gives TTFT 500, E2E 520 and two tokens: role frame at 20, Hello at 500, world at 520, usage at 525, [DONE] at 526", () => {
    const { exchange, gaps, peculiarities } = read([
      [0, head],
      [20, event(delta({ role: "assistant", content: "" }))],
      [500, event(delta({ content: "Hello" }))],
      [520, event(delta({ content: " world" }, "stop"))],
      [525, event(usage(2))],
      [526, event("[DONE]") + last],
    ]);
    expect(exchange).toMatchObject({ outcome: "good", keepAlive: true });
    expect(exchange.tokens).toMatchObject({
      firstAt: 500,
      visibleAt: 500,
      lastAt: 520,
      frames: 2,
      firstTokens: 0,
      outputTokens: 2,
      promptTokens: 5,
      longestGapMs: 20,
    });
    expect(gaps).toEqual([20]);
    expect(peculiarities).toEqual([]);
  });

  it("counts reasoning as tokens and not as visible: 100 and 200 reasoning, 900 and 1000 content", () => {
    for (const field of ["reasoning_content", "reasoning"]) {
      const { exchange } = read([
        [0, head],
        [100, event(delta({ [field]: "hm" }))],
        [200, event(delta({ [field]: " so" }))],
        [900, event(delta({ content: "an" }))],
        [1000, event(delta({ content: "swer" }, "stop"))],
        [1001, event(usage(4, 2)) + event("[DONE]") + last],
      ]);
      expect(exchange.tokens).toMatchObject({ firstAt: 100, visibleAt: 900, lastAt: 1000, frames: 4, outputTokens: 4, reasoningTokens: 2 });
    }
  });

  it("of reasoning only has no visible token", () => {
    const { exchange } = read([
      [0, head],
      [100, event(delta({ reasoning: "hm" }, "length")) + event("[DONE]") + last],
    ]);
    expect(exchange.outcome).toBe("good");
    expect(exchange.tokens!.visibleAt).toBeNaN();
  });

  it("with an error event under HTTP 200 is a stream_error, whatever came before and after", () => {
    const { exchange, peculiarities } = read([
      [0, head],
      [10, event(delta({ content: "a" })) + event(delta({ content: "b" }))],
      [20, event({ error: { message: "out of memory", code: 500 } }) + event("[DONE]") + last],
    ]);
    expect(exchange.outcome).toBe("stream_error");
    expect(exchange.tokens!.frames).toBe(2);
    expect(peculiarities).toEqual(["an error under HTTP 200: out of memory"]);
  });

  it("that is cut, ends without a finish reason, or brings no token is no success", () => {
    const cut = read([
      [0, head],
      [10, event(delta({ content: "a" }))],
    ]);
    expect(cut.exchange).toMatchObject({ outcome: "stream_error", keepAlive: false });
    expect(cut.exchange.tokens!.frames).toBe(1);
    expect(read([[0, head + event(delta({ content: "a" })) + event("[DONE]") + last]]).exchange.outcome).toBe("stream_error");
    expect(read([[0, head + last]]).exchange.outcome).toBe("protocol_error");
    expect(read([[0, head + event(delta({ role: "assistant" }, "stop")) + event("[DONE]") + last]]).exchange.outcome).toBe(
      "protocol_error",
    );
  });

  it("may lack [DONE] and usage; both are said", () => {
    const { exchange, peculiarities } = read([[5, head + event(delta({ content: "a" }, "stop")) + last]]);
    expect(exchange.outcome).toBe("good");
    expect(peculiarities).toEqual(["no [DONE] at the end of the stream", "no usage: tokens are counted by events"]);
  });

  it("counts parts of tool calls as tokens", () => {
    const call = (text: string): object => delta({ tool_calls: [{ index: 0, function: { arguments: text } }] });
    const { exchange } = read([
      [0, head + event(delta({ tool_calls: [{ index: 0, id: "1", function: { name: "f", arguments: "" } }] }))],
      [10, event(call('{"a"'))],
      [20, event(call(":1}"))],
      [30, event(delta({}, "tool_calls")) + event("[DONE]") + last],
    ]);
    expect(exchange.tokens).toMatchObject({ frames: 3, firstAt: 0, visibleAt: 0, lastAt: 20 });
  });

  it("takes the tokens of the first event from cumulative usage", () => {
    const counted = (text: string, tokens: number, finish: string | null = null): object => ({
      ...delta({ content: text }, finish),
      usage: { prompt_tokens: 5, completion_tokens: tokens },
    });
    const { exchange } = read([
      [100, head + event(counted("two at once", 2))],
      [120, event(counted(" and", 3)) + event(counted(" end", 4, "stop")) + event("[DONE]") + last],
    ]);
    expect(exchange.tokens).toMatchObject({ firstTokens: 2, outputTokens: 4, frames: 3 });
  });

  it("knows an event again by what stands around its text, and is not deceived by quotes, escapes or other fields", () => {
    const texts = ["one", " two", ' "quoted"', "back\\slash\\", '\\"', "é", "\u2028", "\n", "x".repeat(300), 'a","finish_reason":"stop"'];
    const { exchange, gaps } = read([
      [0, head],
      ...texts.map((content, k) => [10 * (k + 1), event(delta({ content }))] as const),
      [200, event(delta({ content: "" }))],
      [300, event(delta({ role: "assistant" }))],
      [400, event(delta({}, "stop")) + event(usage(texts.length)) + event("[DONE]") + last],
    ]);
    expect(exchange).toMatchObject({ outcome: "good" });
    expect(exchange.tokens).toMatchObject({ frames: texts.length, firstAt: 10, lastAt: 10 * texts.length });
    expect(gaps).toEqual(Array(texts.length - 1).fill(10));
  });

  it("gives zero gaps where one read brings several events", () => {
    const { exchange, gaps } = read([
      [10, head + [1, 2, 3, 4].map((n) => event(delta({ content: ` ${n}` }))).join("")],
      [30, event(delta({ content: " 5" }, "stop")) + event(usage(5)) + event("[DONE]") + last],
    ]);
    expect(gaps).toEqual([0, 0, 0, 20]);
    expect(exchange.tokens!.longestGapMs).toBe(20);
  });

  it("refuses to read what was compressed without being asked", () => {
    const { exchange, peculiarities } = read([
      [0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx"],
    ]);
    expect(exchange.outcome).toBe("protocol_error");
    expect(peculiarities[0]).toMatch(/compressed \(gzip\)/);
  });

  it("throttled by 429 or 503 is throttled", () => {
    for (const status of [429, 503]) {
      const { exchange } = read([[0, `HTTP/1.1 ${status} Busy\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n{}`]]);
      expect(exchange).toMatchObject({ outcome: "throttled", status });
    }
  });
});

describe("streams of real servers", () => {
  it.each([
    ["vllm-chat-stream-usage", "good", 4, 4, 0],
    ["vllm-completion-stream", "good", 6, 0, 0],
    ["vllm-completion-stream-usage", "good", 6, 6, 0],
    ["vllm-completion-stream-continuous-usage", "good", 6, 6, 1],
    ["vllm-n-2-stream", "good", 12, 0, 0],
    ["llama-cpp-chat-stream", "good", 4, 0, 0],
    ["llama-cpp-chat-stream-usage", "good", 4, 0, 0],
    ["llama-cpp-completion-stream-usage", "good", 4, 0, 0],
    ["llama-cpp-stop-stream", "good", 2, 0, 0],
    ["llama-cpp-chat-prompt-too-long-stream", "protocol_error", 0, 0, 0],
    ["vllm-too-long-stream", "http_error", 0, 0, 0],
  ])("%s: %s, %i events with tokens, %i tokens by usage, %i in the first", (name, outcome, frames, outputTokens, firstTokens) => {
    const bytes = wire(name);
    const whole = read([[1, bytes]]).exchange;
    expect(whole).toMatchObject({ outcome });
    expect(whole.tokens).toMatchObject({ frames, outputTokens, firstTokens });
    const stream = randomStream(name, "cuts");
    for (let trial = 0; trial < 50; trial++) {
      const cuts = [
        0,
        ...Array.from({ length: 1 + stream.below(12) }, () => stream.below(bytes.length)).sort((a, b) => a - b),
        bytes.length,
      ];
      const pieces = cuts.slice(1).map((to, k) => [1, bytes.subarray(cuts[k], to)] as const);
      expect(read(pieces.filter(([, piece]) => piece.length > 0)).exchange).toEqual(whole);
    }
  });
});
