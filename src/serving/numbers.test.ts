import { describe, expect, it } from "vitest";
import { randomStream } from "../base/index.ts";
import type { DataType } from "../tensor/index.ts";
import { liftLists, readNumbers } from "./numbers.ts";
import { parseInfer } from "./protocol.ts";

const read = (list: string, datatype: DataType, count: number) => readNumbers(Buffer.from(`${list}]`), datatype, count);
const listOf = (text: string): string | undefined => [...liftLists(Buffer.from(text)).lists.values()][0]?.toString();

/** Texts of numbers of every kind: short, long, at the ends of the range, midway between two floats. */
function numberText(stream: ReturnType<typeof randomStream>): string {
  const digits = (n: number): string => Array.from({ length: n }, () => Math.floor(10 * stream.uniform())).join("");
  const kind = Math.floor(7 * stream.uniform());
  const sign = stream.uniform() < 0.3 ? "-" : "";
  const some = 1 + Math.floor(25 * stream.uniform());
  if (kind === 0) return sign + String(Math.floor(stream.uniform() * 1000));
  if (kind === 1) return sign + String(Math.fround(stream.uniform() * 10 ** Math.floor(stream.uniform() * 80 - 42)));
  if (kind === 2) return `${sign}0.${digits(some)}`;
  if (kind === 3) return `${sign}${1 + Math.floor(9 * stream.uniform())}${digits(some)}.${digits(some)}`;
  if (kind === 4) return `${sign}1.${digits(some)}E${stream.uniform() < 0.5 ? "+" : "-"}${Math.floor(330 * stream.uniform())}`;
  if (kind === 5) return `${sign}${1 + Math.floor(9 * stream.uniform())}${digits(some)}`;
  const float = Math.fround(1 + stream.uniform());
  return sign + String(float + 2 ** -24); // midway between two floats
}

describe("lists of numbers in JSON", () => {
  it("reads the numbers that JSON.parse reads", () => {
    const stream = randomStream("numbers", "texts");
    for (let round = 0; round < 20_000; round++) {
      const text = numberText(stream);
      const expected = JSON.parse(text) as number;
      expect(Array.from(read(text, "FP64", 1) as Float64Array), text).toEqual([expected]);
      expect(Array.from(read(text, "FP32", 1) as Float32Array), text).toEqual([Math.fround(expected)]);
    }
  });
  it.each(["-0", "0", " 1 ", "1e0", "1E-0", "\t1.5\n,\r2", "1e400", "-1e-400", "123456789012345678901234567890"])("reads %j", (text) => {
    const expected = (JSON.parse(`[${text}]`) as number[]).map(Math.fround);
    expect(Array.from(read(text, "FP32", expected.length) as Float32Array)).toEqual(expected);
  });
  it.each([
    "",
    "01",
    "-",
    "+1",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "1 2",
    "1,",
    ",1",
    "1,,2",
    "--1",
    "true",
    "null",
    "NaN",
    "[1]",
    "1\u00a0",
    "1\f",
  ])("leaves %j to JSON.parse", (text) => {
    for (const count of [1, 2]) expect(read(text, "FP32", count)).toBeNull();
  });
  it("leaves other counts, other types, and what a narrow type does not hold", () => {
    expect(read("1,2", "FP32", 3)).toBeNull();
    expect(read("1,2", "FP32", 1)).toBeNull();
    expect(read("1", "FP32", 1e9)).toBeNull();
    expect(read("1", "INT64", 1)).toBeNull();
    expect(read("256", "UINT8", 1)).toBeNull();
    expect(read("0.5", "INT32", 1)).toBeNull();
    expect(Array.from(read("255,0", "UINT8", 2) as Uint8Array)).toEqual([255, 0]);
  });
  it("lifts lists after the key only", () => {
    expect(listOf('{"data" :\n[1,2]}')).toBe("1,2]");
    expect(listOf('{"data":["a]b"]}')).toBeUndefined();
    expect(listOf('{"a":"\\"data\\":[1]"}')).toBeUndefined();
    expect(listOf('{"data":{"x":[1]}}')).toBeUndefined();
    expect(listOf('{"data":[1')).toBeUndefined();
  });
});

describe("a request read in part by us", () => {
  const model = { name: "m", inputs: [{ name: "x", datatype: "FP32" as const, shape: [-1, 2] }], outputs: [] };
  const parse = (text: string) => parseInfer(Buffer.from(text), null, model).inputs.get("x")!.data;
  const input = (data: string): string => `{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":${data}}]}`;
  it("is judged as JSON.parse judges the whole", () => {
    const stream = randomStream("numbers", "requests");
    const pieces = ["1", "2.5", ",", "[", "]", "{", "}", '"data":', '"', '"k":1', " ", "null", "-", '"data":[1,2]'];
    for (let round = 0; round < 20_000; round++) {
      const length = 1 + Math.floor(6 * stream.uniform());
      const text = input(Array.from({ length }, () => pieces[Math.floor(pieces.length * stream.uniform())]!).join(""));
      let valid = true;
      let expected: unknown = null;
      try {
        expected = (JSON.parse(text) as { inputs: { data: unknown }[] }).inputs[0]!.data;
      } catch {
        valid = false;
      }
      const flat = Array.isArray(expected) ? (expected as unknown[]).flat(9) : [];
      if (!valid) expect(() => parse(text), text).toThrow(/no JSON/);
      else if (flat.length === 2 && flat.every((value) => typeof value === "number")) {
        try {
          expect(Array.from(parse(text) as Float32Array), text).toEqual(flat);
        } catch (fault) {
          expect((fault as Error).message, text).toMatch(/ragged/);
        }
      } else expect(() => parse(text), text).toThrow(/input "x"/);
    }
  });
  it("is not fooled by a client that writes what looks like a mark", () => {
    expect(() => parse(input('"mark:0"'))).toThrow(/no "data" list/);
  });
});
