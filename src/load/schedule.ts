/**
 * When requests are due and which one is sent: pure, seeded, made in blocks, fixed before the run.
 * Arrivals and items draw from streams of their own, so that the same seed gives the same work at
 * whatever speed it is answered.
 */
import { randomStream, type RandomStream } from "../base/index.ts";

export type Arrival = { kind: "constant" } | { kind: "poisson" } | { kind: "gamma"; cv: number };

/** Gamma(shape, 1) by Marsaglia and Tsang (2000); below shape 1 by their boost. */
function gamma(shape: number, stream: RandomStream): number {
  if (shape < 1) return gamma(shape + 1, stream) * (1 - stream.uniform()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = stream.normal();
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - stream.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Endless gaps between arrivals with mean 1. */
function gapsOf(arrival: Arrival, stream: RandomStream): () => number {
  switch (arrival.kind) {
    case "constant":
      return () => 1;
    case "poisson":
      return () => stream.exponential();
    case "gamma": {
      const shape = 1 / arrival.cv ** 2;
      return () => gamma(shape, stream) / shape;
    }
  }
}

/**
 * Due times in milliseconds from the start, ascending, without end.
 * @param seed root of the stream `arrivals`
 */
export function arrivalTimes(arrival: Arrival, ratePerSecond: number, seed: string): () => number {
  const gap = gapsOf(arrival, randomStream(seed, "arrivals"));
  const meanMs = 1000 / ratePerSecond;
  let count = 0;
  let at = 0;
  if (arrival.kind === "constant") return () => meanMs * count++;
  return () => (at += gap() * meanMs);
}

/**
 * Which request is sent: `once` each in order, then null; `shuffled` passes over all of them without
 * replacement, each pass in its own order.
 */
export function itemOrder(order: "shuffled" | "once", count: number, seed: string): () => number | null {
  let next = 0;
  if (order === "once") return () => (next < count ? next++ : null);
  const stream = randomStream(seed, "items");
  const items = Array.from({ length: count }, (_, i) => i);
  let pass: number[] = [];
  return () => {
    if (pass.length === 0) pass = stream.shuffled(items);
    return pass.pop()!;
  };
}
