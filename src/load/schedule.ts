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

/** How the rate moves over the window, in requests per second. */
export type RateProfile =
  | { kind: "constant"; perSecond: number }
  /** Linear from one rate to the other. */
  | { kind: "ramp"; fromPerSecond: number; toPerSecond: number; durationMs: number }
  /** Each rate for the same time. */
  | { kind: "steps"; perSecond: readonly number[]; eachMs: number };

/** The time at which that many requests are due on average, milliseconds: the inverse of the summed rate. */
function timeOf(profile: RateProfile): (count: number) => number {
  switch (profile.kind) {
    case "constant":
      return (count) => (1000 / profile.perSecond) * count;
    case "ramp": {
      const { fromPerSecond: from, toPerSecond: to, durationMs } = profile;
      const slope = (to - from) / (durationMs / 1000);
      const whole = ((from + to) / 2) * (durationMs / 1000);
      // from·t + slope·t²/2 = count, solved so that a slope of 0 divides by nothing.
      return (count) =>
        count > whole
          ? durationMs + ((count - whole) / Math.max(to, 1e-9)) * 1000
          : (2000 * count) / Math.max(1e-9, from + Math.sqrt(Math.max(0, from * from + 2 * slope * count)));
    }
    case "steps": {
      const { perSecond, eachMs } = profile;
      return (count) => {
        let left = count;
        for (const [k, rate] of perSecond.entries()) {
          const held = (rate * eachMs) / 1000;
          if (left <= held && rate > 0) return k * eachMs + (1000 * left) / rate;
          left -= held;
        }
        return perSecond.length * eachMs + (1000 * left) / Math.max(perSecond.at(-1)!, 1e-9);
      };
    }
  }
}

const firstRate = (profile: RateProfile): number => {
  switch (profile.kind) {
    case "constant":
      return profile.perSecond;
    case "ramp":
      return Math.max(profile.fromPerSecond, 1e-9);
    case "steps":
      return Math.max(profile.perSecond[0]!, 1e-9);
  }
};

/**
 * Due times in milliseconds from the start, ascending, without end. A process of unit rate is drawn and
 * its time is bent by the profile, so that the spread of arrivals is the named one at every moment.
 * @param seed root of the stream `arrivals`
 * @param leadMs time before the profile begins, at its first rate: the warm-up
 */
export function arrivalTimes(arrival: Arrival, profile: RateProfile, seed: string, leadMs = 0): () => number {
  const gap = gapsOf(arrival, randomStream(seed, "arrivals"));
  const bent = timeOf(profile);
  const first = firstRate(profile);
  const lead = profile.kind === "constant" ? 0 : (first * leadMs) / 1000;
  const dueAt = (count: number): number => {
    if (profile.kind === "constant") return bent(count);
    return count < lead ? (1000 * count) / first : leadMs + bent(count - lead);
  };
  let count = 0;
  let at = 0;
  if (arrival.kind === "constant") return () => dueAt(count++);
  return () => dueAt((at += gap()));
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
