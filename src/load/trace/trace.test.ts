import { describe, expect, it } from "vitest";
import { parseTrace } from "./index.ts";

const timesOf = (text: string): number[] => parseTrace(text, "t").requests.map(({ atMs }) => Math.round(atMs * 1e4) / 1e4);

describe("traces", () => {
  it("of Azure: carriage returns, seven digits behind the second, whatever the order", () => {
    const text = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:47.1805900,374,44\r\n2023-11-16 18:15:46.6805900,4808,10\r\n";
    expect(timesOf(text)).toEqual([0, 500]);
    expect(parseTrace(text, "t")).toMatchObject({ format: "azure", requests: [{ inputTokens: 4808, outputTokens: 10, blocks: null }, {}] });
  });
  it("of BurstGPT: seconds", () => {
    const text =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,s,1,GPT-4,472,18,490,API log\n45.5,s,1,GPT-4,1087,0,1087,API log\n";
    expect(timesOf(text)).toEqual([0, 40_500]);
    expect(parseTrace(text, "t")).toMatchObject({ format: "burstgpt", requests: [{ inputTokens: 472 }, { outputTokens: 0 }] });
  });
  it("of Mooncake: milliseconds and blocks of 512 tokens", () => {
    const row = (fields: object): string => JSON.stringify({ input_length: 600, output_length: 5, hash_ids: [1, 2], ...fields });
    const text = `${row({ timestamp: 1000 })}\n\n${row({ timestamp: 4052, hash_ids: [1, 9] })}\n`;
    expect(timesOf(text)).toEqual([0, 3052]);
    expect(parseTrace(text, "t")).toMatchObject({
      format: "mooncake",
      requests: [{ blocks: [1, 2], blockTokens: 512 }, { blocks: [1, 9] }],
    });
  });
  it("of Bailian: seconds and blocks of 16 tokens", () => {
    const text = `{"chat_id":1,"parent_chat_id":-1,"timestamp":61.25,"input_length":30,"output_length":4,"type":"text","turn":1,"hash_ids":[7,8]}`;
    expect(parseTrace(`${text}\n${text.replace("61.25", "62.5")}`, "t")).toMatchObject({
      format: "bailian",
      requests: [{ atMs: 0, blockTokens: 16 }, { atMs: 1250 }],
    });
  });
  it("of Weka: the requests of every session, by time", () => {
    const text =
      '{"id":"a","requests":[{"t":0.5,"in":100,"out":7,"hash_ids":[1,2]},{"t":9,"in":200,"out":8,"hash_ids":[1,2,3,4]}]}\n{"id":"b","requests":[{"t":3,"in":50,"out":9,"hash_ids":[5]}]}';
    expect(timesOf(text)).toEqual([0, 2500, 8500]);
    expect(parseTrace(text, "t")).toMatchObject({
      format: "weka",
      requests: [{ blockTokens: 64 }, { inputTokens: 50 }, { outputTokens: 8 }],
    });
  });
  it.each([
    ["a,b\n1,2\n", /t:1: no known trace; known are azure, burstgpt/],
    ['{"timestamp":1,"input_length":3,"output_length":1}\n{"timestamp":', /t:2: no JSON object/],
    ['{"timestamp":1,"input_length":-3,"output_length":1}', /t:1: "input_length" is -3; expected a number, 0 or more/],
    ["TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:47.1,3,4\nyesterday,3,4\n", /t:3: "TIMESTAMP" is "yesterday"/],
    ["TIMESTAMP,ContextTokens,GeneratedTokens\n", /t:1: /],
    ["", /t:1: /],
  ])("refuses %j", (text, message) => expect(() => parseTrace(text, "t")).toThrow(message));
});
