import { describe, expect, it } from "vitest";
import { compileAnswer, parseTruthScript } from "./script.ts";

describe("a script of the truth server", () => {
  it("becomes writes in order of time, those of the same time in one", () => {
    const { answers } = parseTruthScript(`
answers:
  - headAt: 0
    frames:
      - { at: 20, role: assistant }
      - { at: 500, content: a, times: 3, everyMs: 10 }
      - { at: 520, finish: stop }
      - { at: 525, usage: { prompt: 3, completion: 3 } }
      - { at: 525, done: true }
`);
    const { writes, end, endAtMs } = compileAnswer(answers[0]!);
    expect(writes.map(({ atMs }) => atMs)).toEqual([0, 20, 500, 510, 520, 525]);
    const text = Buffer.concat(writes.map(({ bytes }) => bytes)).toString();
    expect(text.match(/"content":"a"/g)).toHaveLength(3);
    expect(text).toMatch(/"choices":\[\],"usage":\{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6\}/);
    expect(text.endsWith("data: [DONE]\n\n\r\n0\r\n\r\n")).toBe(true);
    expect({ end, endAtMs }).toEqual({ end: "clean", endAtMs: 525 });
  });

  it("names every place that is wrong", () => {
    expect(() => parseTruthScript("answers: [{ frames: [{ content: a }], lineEnd: lfcr }]")).toThrow(
      /answers\.0\.frames\.0\.at: .*answers\.0\.lineEnd: /,
    );
    expect(() => parseTruthScript("answers: []")).toThrow(/answers: /);
    expect(() => parseTruthScript("answers: [\n")).toThrow();
  });
});
