import { describe, expect, it } from "vitest";
import { createGapHistogram, gapPercentile } from "./gaps.ts";
import { createTable, hasTokens, outcomeNumber, type OutcomeClass, type RecordTable, type TokenTable } from "./records.ts";
import { summariseFigures, tokensWithin, type Figures, type MetricTarget } from "./figures.ts";
import { rowAt } from "./metrics/index.ts";

interface Answer {
  outcome?: OutcomeClass;
  scheduled?: number;
  sent?: number;
  first?: number;
  visible?: number;
  last?: number;
  done?: number;
  frames?: number;
  firstTokens?: number;
  output?: number;
  longestGap?: number;
}

function tableOf(answers: readonly Answer[]): RecordTable & { tokens: TokenTable } {
  const table = createTable(answers.length, true);
  if (!hasTokens(table)) throw new Error("no tokens");
  for (const [
    row,
    { outcome = "good", scheduled = 0, sent = scheduled, first = Number.NaN, visible = first, last = first, done = last, ...more },
  ] of answers.entries()) {
    table.outcome[row] = outcomeNumber(outcome);
    [table.scheduledNs[row], table.issuedNs[row], table.sentNs[row], table.doneNs[row]] = [
      scheduled * 1e6,
      scheduled * 1e6,
      sent * 1e6,
      done * 1e6,
    ];
    const { tokens } = table;
    [tokens.firstTokenNs[row], tokens.visibleNs[row], tokens.lastTokenNs[row]] = [first * 1e6, visible * 1e6, last * 1e6];
    tokens.frames[row] = more.frames ?? 1;
    tokens.firstTokens[row] = more.firstTokens ?? 0;
    tokens.outputTokens[row] = more.output ?? 0;
    tokens.longestGapUs[row] = (more.longestGap ?? 0) * 1000;
  }
  return table;
}

const sumUp = (answers: readonly Answer[], targets: MetricTarget[] = [], windowMs = 1000): Figures =>
  summariseFigures(tableOf(answers), { windowMs }, targets, true);
const meanOf = ({ metrics }: Figures, tag: string): number | null => metrics.find((metric) => metric.tag === tag)!.mean;

describe("figures of streamed answers", () => {
  it("TTFT 500, TPOT 20, E2E 520 of two tokens at 500 and 520, the first assumed to be one", () => {
    const found = sumUp([{ first: 500, last: 520, done: 526, frames: 2, output: 2, longestGap: 20 }]);
    expect([meanOf(found, "ttft"), meanOf(found, "tpot"), meanOf(found, "e2e")]).toEqual([500, 20, 520]);
    expect(found.assumedRatio).toBe(1);
  });

  it("TTFT 100, TTFV 900, TPOT 300 where two of four tokens are reasoning; no TTFV where all are", () => {
    const found = sumUp([{ first: 100, visible: 900, last: 1000, frames: 4, output: 4 }]);
    expect([meanOf(found, "ttft"), meanOf(found, "ttfv"), meanOf(found, "tpot")]).toEqual([100, 900, 300]);
    const silent = sumUp([{ first: 100, visible: Number.NaN, last: 200, frames: 2 }]);
    expect(silent.metrics.find(({ tag }) => tag === "ttfv")).toMatchObject({ count: 0, missing: 0, mean: null });
  });

  it("a mean TPOT of 60 over a request with 100 gaps of 10 and one with a gap of 110; weighted by tokens 10.99", () => {
    const found = sumUp([
      { first: 0, last: 1000, frames: 101, output: 101 },
      { first: 0, last: 110, frames: 2, output: 2 },
    ]);
    expect(meanOf(found, "tpot")).toBe(60);
    expect(found.weightedTpotMs).toBeCloseTo(10.99, 2);
  });

  it("takes the tokens of the first event off, where usage tells them: 10 tokens, 4 of them first, over 60 ms are 10 each", () => {
    expect(meanOf(sumUp([{ first: 100, last: 160, frames: 7, firstTokens: 4, output: 10 }]), "tpot")).toBe(10);
    expect(sumUp([{ first: 100, last: 100, frames: 1, output: 1 }]).metrics.find(({ tag }) => tag === "tpot")!.count).toBe(0);
  });

  it("counts the wait for a connection into TTFT, and not into that of the server", () => {
    const found = sumUp([{ scheduled: 0, sent: 1400, first: 1900 }]);
    expect([meanOf(found, "ttft"), meanOf(found, "ttft-service"), meanOf(found, "queue")]).toEqual([1900, 500, 1400]);
  });

  it("puts requests that brought nothing above all others in every percentile", () => {
    const answers: Answer[] = Array.from({ length: 100 }, (_, k) => (k < 95 ? { first: k + 1 } : { outcome: "timeout" as const }));
    const ttft = sumUp(answers).metrics.find(({ tag }) => tag === "ttft")!;
    expect(ttft).toMatchObject({ count: 100, missing: 5 });
    expect(ttft.percentiles.map(({ value }) => value)).toEqual([50, 90, 95, null]);
  });

  it("certifies p99 from 662 requests on, by the second largest, and gives no bound below", () => {
    const answers = (count: number): Answer[] => Array.from({ length: count }, (_, k) => ({ first: k + 1 }));
    const p99 = (count: number) => sumUp(answers(count)).metrics[0]!.percentiles.at(-1)!;
    expect(p99(661).certified).toBeNull();
    expect(p99(662).certified).toBe(661);
  });

  it("says of a target: pass, fail, or how many requests it takes", () => {
    const target = { tag: "ttft", p: 0.9, limit: 100 };
    const of = (count: number, first: (k: number) => number): string =>
      sumUp(
        Array.from({ length: count }, (_, k) => ({ first: first(k) })),
        [target],
      ).targets[0]!.result;
    expect(of(64, () => 50)).toBe("pass");
    expect(of(63, () => 50)).toBe("cannot-tell");
    expect(of(200, (k) => (k % 2 === 0 ? 50 : 150))).toBe("fail");
  });

  it("cannot say that a target is missed where stalls of the host touched the run", () => {
    const table = tableOf(Array.from({ length: 200 }, () => ({ first: 500 })));
    const [finding] = summariseFigures(table, { windowMs: 1000 }, [{ tag: "ttft", p: 0.9, limit: 100 }], false).targets;
    expect(finding!.result).toBe("cannot-tell");
  });

  it("goodput counts requests that succeed and meet every limit; one to which a limit does not apply meets it", () => {
    const targets = [
      { tag: "ttft", p: 0.9, limit: 100 },
      { tag: "tpot", p: 0.9, limit: 10 },
    ];
    const found = sumUp(
      [
        { first: 50, last: 90, frames: 5, output: 5 },
        { first: 50, last: 190, frames: 5, output: 5 },
        { first: 150 },
        { first: 50 },
        { outcome: "stream_error", first: 10, last: 20 },
      ],
      targets,
      2000,
    );
    expect(found.goodput).toEqual({ perSecond: 1, attainment: 0.4 });
  });

  it("counts tokens inside the window, of answers cut by its edges and of failed ones too", () => {
    const row = (answer: Answer) => rowAt(tableOf([answer]), 0);
    expect(tokensWithin(row({ first: 900, last: 1100, frames: 11, output: 11 }), 0, 1000)).toBe(6);
    expect(tokensWithin(row({ first: -100, last: 100, frames: 11, output: 11 }), 0, 1000)).toBe(5);
    expect(tokensWithin(row({ first: 5, last: 5, frames: 4, output: 4 }), 0, 1000)).toBe(4);
    expect(tokensWithin(row({}), 0, 1000)).toBe(0);
    const found = sumUp([
      { first: 0, last: 1000, frames: 100, output: 100 },
      { outcome: "stream_error", first: 0, last: 1000, frames: 100 },
    ]);
    expect(found.outputPerSecond).toBe(200);
    expect(found.usefulRatio).toBe(0.5);
  });

  it("pools gaps of any number within half a percent, zero ones among them", () => {
    const gaps = createGapHistogram();
    for (let k = 0; k < 50; k++) gaps.add(0);
    for (let k = 1; k <= 1000; k++) gaps.add(k);
    const counts = gaps.counts();
    expect(gapPercentile(counts, 0.01)).toBe(0);
    for (const [p, value] of [
      [0.5, 475],
      [0.99, 990],
      [1, 1000],
    ] as const)
      expect(Math.abs(gapPercentile(counts, p)! / value - 1)).toBeLessThan(0.006);
    expect(gapPercentile({ zero: 0, counts: [] }, 0.5)).toBeNull();
  });
});
