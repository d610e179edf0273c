import { expect, it } from "vitest";
import { unpairedRatio } from "./unpaired.ts";

const a = [27.5, 21, 19, 23.6, 17, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19, 21.7, 21.4];
const b = [27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
const powers = (values: readonly number[]): number[] => values.map(Math.exp);

it("agrees with Welch's test of SciPy 1.16: p 0.0213780, 24.98853 degrees, −3.984096 to −0.349237", () => {
  const found = unpairedRatio(powers(a), powers(b))!;
  expect(found.pValue).toBeCloseTo(0.021378001462867, 9);
  expect(found.freedom).toBeCloseTo(24.988529290231416, 8);
  expect(Math.log(found.low)).toBeCloseTo(-3.984096267140929, 5);
  expect(Math.log(found.high)).toBeCloseTo(-0.3492370661924069, 5);
});

it("has no answer of one run a side, or of a value that is none", () => {
  expect(unpairedRatio([1], [2, 3])).toBeNull();
  expect(unpairedRatio([1, 0], [2, 3])).toBeNull();
});
