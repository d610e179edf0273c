import { describe, expect, it } from "vitest";
import { randomStream } from "../../base/index.ts";
import { conclude, nextVisit, type Conclusion, type NextVisit } from "./design.ts";
import type { Design, EndpointQuestion } from "./question.ts";
import type { EndpointVisit } from "./visit.ts";

const targets: EndpointQuestion["targets"] = [{ tag: "e2e", p: 0.9, limit: 50 }];
const question = (design: Design, more: Partial<EndpointQuestion> = {}): EndpointQuestion => ({
  endpoints: [],
  load: { kind: "open", arrival: { kind: "poisson" }, ratePerSecond: 10 },
  design,
  durationMs: 10_000,
  warmUpMs: 0,
  timeoutMs: 60_000,
  connections: 64,
  targets,
  metrics: null,
  seed: "s",
  ...more,
});

interface Seen {
  result?: "pass" | "fail" | "cannot-tell";
  e2eMs?: number;
  perSecond?: number;
  valid?: boolean;
  drift?: number;
}
/** The parts of a visit that a design looks at. */
const seen = (next: NextVisit, { result = "pass", e2eMs = 10, perSecond = 100, valid = true, drift = 0 }: Seen): EndpointVisit =>
  ({
    ...next,
    context: { windowMs: next.durationMs },
    run: { valid, tainted: false, drift, succeeded: (perSecond * next.durationMs) / 1000 },
    figures: {
      targets: [{ tag: "e2e", p: 0.9, limit: 50, result }],
      metrics: [{ tag: "e2e", count: 100, percentiles: [{ p: 0.9, value: e2eMs }] }],
      outputPerSecond: 0,
    },
  }) as unknown as EndpointVisit;

function carryOut(asked: EndpointQuestion, server: (next: NextVisit, number: number) => Seen): [EndpointVisit[], Conclusion] {
  const visits: EndpointVisit[] = [];
  for (let next = nextVisit(asked, visits); next && visits.length < 100; next = nextVisit(asked, visits))
    visits.push(seen(next, server(next, visits.length)));
  return [visits, conclude(asked, visits)];
}
const rateIn = ({ load }: NextVisit): number => (load.kind === "open" ? load.ratePerSecond : Number.NaN);

describe("a sweep", () => {
  it("measures every rate once, in an order that is drawn", () => {
    const rates = [1, 2, 4, 8, 16, 32, 64];
    const [visits] = carryOut(question({ kind: "sweep", ratesPerSecond: rates }), () => ({}));
    expect(visits.map(rateIn)).not.toEqual(rates);
    expect(visits.map(rateIn).sort((a, b) => a - b)).toEqual(rates);
  });
});

describe("a search for the capacity", () => {
  const search = question({ kind: "capacity", startPerSecond: null });

  it("starts at what a closed loop reached, and brackets the rate that keeps the targets", () => {
    const [visits, conclusion] = carryOut(search, (next) =>
      next.load.kind === "closed" ? { perSecond: 400 } : { result: rateIn(next) <= 130 ? "pass" : "fail" },
    );
    expect(visits[0]!.load.kind).toBe("closed");
    expect(rateIn(visits[1]!)).toBe(400);
    expect(conclusion).toMatchObject({ kind: "capacity", startPerSecond: 400, capacity: { limit: "target" } });
    if (conclusion.kind !== "capacity") return;
    expect(conclusion.capacity.lowPerSecond).toBeLessThanOrEqual(130);
    expect(conclusion.capacity.highPerSecond).toBeGreaterThan(130);
  });

  it("takes a rate at which latency keeps growing for one that fails, whatever its percentile", () => {
    const [, conclusion] = carryOut(search, (next) =>
      next.load.kind === "closed" ? { perSecond: 100 } : rateIn(next) <= 130 ? {} : { valid: false, drift: 0.5 },
    );
    expect(conclusion).toMatchObject({ capacity: { limit: "target" } });
  });

  it("keeps a low rate long enough to certify the percentile, up to ten times as long as asked", () => {
    const at = (perSecond: number, p: number): number =>
      nextVisit(question({ kind: "capacity", startPerSecond: perSecond }, { targets: [{ tag: "e2e", p, limit: 50 }] }), [])!.durationMs;
    // 64 requests certify a p90, 662 a p99; a fifth more are planned.
    expect(at(100, 0.9)).toBe(10_000);
    expect(at(1, 0.9)).toBeCloseTo(1000 * 1.2 * 64, 6);
    expect(at(10, 0.99)).toBeCloseTo(100 * 1.2 * 662, 6);
    expect(at(1, 0.99)).toBe(100_000);
  });

  it("that was stopped says so", () => {
    const first = nextVisit(search, [])!;
    expect(conclude(search, [])).toMatchObject({ startPerSecond: null, capacity: { lowPerSecond: 0, limit: "budget" } });
    expect(conclude(search, [seen(first, { perSecond: 50 })])).toMatchObject({ startPerSecond: 50, capacity: { limit: "budget" } });
  });
});

describe("one endpoint against another", () => {
  const noise = randomStream("noise", "against");
  const noisy = (value: number, sd: number): number => value * Math.exp(sd * noise.normal());

  it("measures both in every pair, each first as often, and stops when it is certain", () => {
    const [visits, conclusion] = carryOut(question({ kind: "against", pairs: 20 }), ({ endpoint }) => ({
      e2eMs: noisy(endpoint === 0 ? 10 : 8, 0.05),
    }));
    const order = visits.map(({ endpoint }) => endpoint);
    for (let at = 0; at < order.length; at += 2) expect(order[at]! + order[at + 1]!).toBe(1);
    expect(new Set(order.filter((_, k) => k % 2 === 0)).size).toBe(2);
    expect(visits.length).toBeLessThanOrEqual(20);
    expect(conclusion).toMatchObject({ differences: [{ what: "e2e.p90", answer: "better" }] });
  });

  it("finds none between equals when the noise is small, and cannot tell yet when it is large", () => {
    const [small, equal] = carryOut(question({ kind: "against", pairs: 20 }), () => ({ e2eMs: noisy(10, 0.005) }));
    expect(equal).toMatchObject({ differences: [{ answer: "no measurable difference", morePairs: 0 }] });
    expect(small.length).toBeLessThan(40);
    const [large, unknown] = carryOut(question({ kind: "against", pairs: 6 }), () => ({ e2eMs: noisy(10, 0.3) }));
    expect(large).toHaveLength(12);
    expect(unknown).toMatchObject({ differences: [{ answer: "cannot tell yet" }] });
    if (unknown.kind === "against") expect(unknown.differences[0]!.morePairs).toBeGreaterThan(100);
  });

  it("tells two worse latencies apart from two better throughputs", () => {
    const closed = question({ kind: "against", pairs: 20 }, { load: { kind: "closed", concurrency: 4 } });
    const [, conclusion] = carryOut(closed, ({ endpoint }) => ({ e2eMs: endpoint === 0 ? 10 : 12, perSecond: endpoint === 0 ? 100 : 120 }));
    expect(conclusion).toMatchObject({
      differences: [
        { what: "e2e.p90", unit: "ms", answer: "worse", ratio: { value: expect.closeTo(1.2, 9) } },
        { what: "requests", unit: "per second", answer: "better", ratio: { value: expect.closeTo(1.2, 9) } },
      ],
    });
  });

  it("never answers from fewer than five pairs, nor over a value that is missing", () => {
    const four = question({ kind: "against", pairs: 4 });
    const [, conclusion] = carryOut(four, ({ endpoint }) => ({ e2eMs: endpoint === 0 ? 10 : 1 }));
    expect(conclusion).toMatchObject({ differences: [{ answer: "cannot tell yet", morePairs: 1 }] });
    const [, holed] = carryOut(question({ kind: "against", pairs: 6 }), (_, number) => ({ e2eMs: number === 3 ? 0 : 10 }));
    expect(holed).toMatchObject({ differences: [{ answer: "cannot tell yet", ratio: null }] });
  });
});
