import { describe, expect, it } from "vitest";
import { AssayError, canonicalJson, digestBytes, parseBytes, parseDurationMs, randomStream, redact, roundNumbers } from "./index.ts";

describe("canonical JSON", () => {
  it("sorts keys, leaves undefined out and refuses what JSON cannot say", () => {
    expect(canonicalJson({ b: 1, a: [true, null, "é"], c: undefined })).toBe('{"a":[true,null,"é"],"b":1}');
    expect(() => canonicalJson(Number.NaN)).toThrow(RangeError);
  });
  it("rounds numbers to nine significant digits wherever they stand", () => {
    expect(roundNumbers({ a: [1 / 3], b: 123456789.123 })).toEqual({ a: [0.333333333], b: 123456789 });
  });
});

describe("digests", () => {
  it("gives the published SHA-256 of abc", () => {
    expect(digestBytes("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe("random streams", () => {
  it("repeats under one name and differs under another", () => {
    const draw = (name: string): number[] => {
      const stream = randomStream(1, name);
      return [stream.uniform(), stream.uniform()];
    };
    expect(draw("arrivals")).toEqual(draw("arrivals"));
    expect(draw("arrivals")).not.toEqual(draw("items"));
  });
  it("has the moments of its distributions", () => {
    const stream = randomStream(7, "moments");
    const n = 200_000;
    const mean = (draw: () => number): number => Array.from({ length: n }, draw).reduce((sum, x) => sum + x, 0) / n;
    expect(mean(() => stream.uniform())).toBeCloseTo(0.5, 2);
    expect(mean(() => stream.exponential())).toBeCloseTo(1, 2);
    expect(mean(() => stream.normal() ** 2)).toBeCloseTo(1, 1);
  });
});

describe("units", () => {
  it("reads the small form", () => {
    expect(parseDurationMs("2m")).toBe(120_000);
    expect(parseBytes("2GiB")).toBe(2_147_483_648);
  });
  it("refuses a number without a unit and names the units", () => {
    expect(() => parseDurationMs("25")).toThrow(AssayError);
    expect(() => parseDurationMs("25")).toThrow(/ms, s, m, h, d/);
  });
});

describe("redaction", () => {
  it("takes credentials, paths, addresses and hosts out of a log line", () => {
    const text = redact(
      "api_key=abc123 loading /home/ann/models/kiwi.onnx for ann@example.org from 10.1.2.3, Authorization: Bearer abcdefgh12345",
    );
    expect(text).not.toMatch(/abc123|ann|10\.1\.2\.3|abcdefgh/);
    expect(text).toContain("[path]");
  });
  it("leaves plain words, versions and the loopback address alone", () => {
    expect(redact("onnxruntime 1.30.0 on 127.0.0.1, 3/4 done")).toBe("onnxruntime 1.30.0 on 127.0.0.1, 3/4 done");
  });
});
