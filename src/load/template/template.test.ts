import { describe, expect, it } from "vitest";
import { breachOf } from "./checks.ts";
import { lookUp, parsePath } from "./json-path.ts";

const answer = { outputs: [{ score: 0.5, "a b": "x" }, { score: 0.9 }], ok: true, none: null };

describe("paths into an answer", () => {
  it.each([
    ["$", answer],
    ["$.ok", true],
    ["$.outputs[0].score", 0.5],
    ["$.outputs[-1].score", 0.9],
    ["$['outputs'][0]['a b']", "x"],
    ['$.outputs[0]["a b"]', "x"],
    ["$.none", null],
    ["$.none.deeper", undefined],
    ["$.outputs[2]", undefined],
    ["$.outputs.length", undefined],
    ["$.toString", undefined],
  ])("%s", (path, value) => expect(lookUp(answer, path)).toEqual(value));

  it.each([
    ["outputs", /begins with \$/],
    ["$.outputs[*]", /at character 10/],
    ["$..score", /at character 2/],
    ["$.outputs[0", /at character 10/],
  ])("refuses %s", (path, message) => expect(() => parsePath(path)).toThrow(message));
});

describe("checks of an answer", () => {
  it("hold, or say what they found", () => {
    expect(breachOf({ path: "$.ok", equals: true }, answer)).toBeNull();
    expect(breachOf({ path: "$.none", equals: null }, answer)).toBeNull();
    expect(breachOf({ path: "$.ok", equals: false }, answer)).toBe("$.ok is true, not false");
    expect(breachOf({ path: "$.outputs[0].score", least: 0.5, most: 0.5 }, answer)).toBeNull();
    expect(breachOf({ path: "$.outputs[1].score", most: 0.8 }, answer)).toBe("$.outputs[1].score is 0.9, out of its limits");
    expect(breachOf({ path: "$.ok", least: 0 }, answer)).toBe("$.ok is no number");
    expect(breachOf({ path: "$.gone" }, answer)).toBe("$.gone is not there");
  });
});
