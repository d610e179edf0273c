import { describe, expect, it } from "vitest";
import { closeness } from "./closeness.ts";

describe("closeness of answers", () => {
  it("gives the figures worked by hand", () => {
    // [3,4] against [4,3]: cos 24/25, ‖(1,−1)‖/5 = √2/5, largest 1.
    const found = closeness([
      [
        [3, 4],
        [3, 4],
      ],
      [
        [3, 4],
        [4, 3],
      ],
    ])!;
    expect(found).toMatchObject({ samples: 2, cosine: { at: 1 }, relativeL2: { at: 1 }, maxAbs: { value: 1, at: 1 }, p999Abs: 1 });
    expect(found.cosine.value).toBeCloseTo(0.96, 12);
    expect(found.relativeL2.value).toBeCloseTo(Math.SQRT2 / 5, 12);
  });
  it("sees a scale that the cosine cannot", () => {
    const found = closeness([
      [
        [1, 2],
        [2, 4],
      ],
    ])!;
    expect(found.cosine.value).toBeCloseTo(1, 12);
    expect(found.relativeL2.value).toBeCloseTo(1, 12);
  });
  it("takes two answers of zeros for the same, and one of zeros for nothing like the other", () => {
    expect(
      closeness([
        [
          [0, 0],
          [0, 0],
        ],
      ]),
    ).toMatchObject({ cosine: { value: 1 }, relativeL2: { value: 0 } });
    expect(
      closeness([
        [
          [1, 0],
          [0, 0],
        ],
      ]),
    ).toMatchObject({ cosine: { value: 0 }, relativeL2: { value: 1 } });
    expect(
      closeness([
        [
          [0, 0],
          [1, 0],
        ],
      ]),
    ).toMatchObject({ cosine: { value: 0 }, relativeL2: { value: Number.POSITIVE_INFINITY } });
  });
  it("takes NaN for infinitely far, unless the reference has it too", () => {
    expect(
      closeness([
        [
          [1, 2],
          [Number.NaN, 2],
        ],
      ]),
    ).toMatchObject({ cosine: { value: 0 }, maxAbs: { value: Number.POSITIVE_INFINITY } });
    expect(
      closeness([
        [
          [Number.NaN, 2],
          [7, 2],
        ],
      ]),
    ).toMatchObject({ cosine: { value: 1 }, maxAbs: { value: 0 } });
  });
  it("has the tail over all numbers, and nothing for no number", () => {
    const reference = Array.from({ length: 1000 }, () => 1);
    const other = reference.map((value, i) => value + (i < 2 ? 5 : i / 1e6));
    expect(closeness([[reference, other]])!.p999Abs).toBeCloseTo(5, 9);
    expect(closeness([])).toBeNull();
  });
});
