/**
 * Seeded streams of random numbers: one root seed a run, one named stream a purpose, so that adding
 * a draw in one place moves nothing elsewhere. Generator: xoshiro128** of Blackman and Vigna (2018);
 * its state comes from SHA-256 of the root seed and the stream's name.
 */
import { digestBytes } from "./digest.ts";

export interface RandomStream {
  /** Uniform in [0, 1), 53 bits. */
  uniform(): number;
  /** A whole number in [0, n), without modulo bias. */
  below(n: number): number;
  /** Exponential with mean 1. */
  exponential(): number;
  /** Standard normal. */
  normal(): number;
  /** The items in random order (Fisher–Yates); the argument is left as it is. */
  shuffled<T>(items: readonly T[]): T[];
}

/** The stream of that name under that root seed. Same arguments, same numbers, on every machine. */
export function randomStream(rootSeed: string | number, ...name: (string | number)[]): RandomStream {
  const seed = digestBytes(JSON.stringify([String(rootSeed), ...name.map(String)]));
  const state = Uint32Array.from({ length: 4 }, (_, i) => Number.parseInt(seed.slice(8 * i, 8 * i + 8), 16));
  const rotl = (x: number, k: number): number => (x << k) | (x >>> (32 - k));
  const next = (): number => {
    const [a, b, c, d] = state as unknown as [number, number, number, number];
    const result = Math.imul(rotl(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    const c2 = c ^ a;
    const d2 = d ^ b;
    state[1] = b ^ c2;
    state[0] = a ^ d2;
    state[2] = c2 ^ t;
    state[3] = rotl(d2, 11);
    return result;
  };
  const uniform = (): number => ((next() >>> 5) * 67_108_864 + (next() >>> 6)) / 9_007_199_254_740_992;
  const below = (n: number): number => {
    const limit = 4_294_967_296 - (4_294_967_296 % n);
    let draw = next();
    while (draw >= limit) draw = next();
    return draw % n;
  };
  return {
    uniform,
    below,
    exponential: () => -Math.log(1 - uniform()),
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    shuffled: (items) => {
      const copy = [...items];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = below(i + 1);
        [copy[i], copy[j]] = [copy[j]!, copy[i]!];
      }
      return copy;
    },
  };
}
