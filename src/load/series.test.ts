import { describe, expect, it } from "vitest";
import { phasesOf } from "./phases.ts";
import { createTable, outcomeNumber, type RecordTable } from "./records.ts";
import { seriesOf, sliceLength } from "./series.ts";

/** [due, sent, first byte, first token, last token, done, tokens], milliseconds. */
type Request = readonly [number, number, number, number, number, number, number];

function tableOf(requests: readonly Request[], failed: readonly number[] = []): RecordTable {
  const table = createTable(requests.length, true);
  for (const [row, [due, sent, firstByte, first, last, done, tokens]] of requests.entries()) {
    table.scheduledNs[row] = due * 1e6;
    table.issuedNs[row] = due * 1e6;
    table.sentNs[row] = sent * 1e6;
    table.firstByteNs[row] = firstByte * 1e6;
    table.doneNs[row] = done * 1e6;
    table.outcome[row] = outcomeNumber(failed.includes(row) ? "timeout" : "good");
    table.tokens!.firstTokenNs[row] = first * 1e6;
    table.tokens!.visibleNs[row] = first * 1e6;
    table.tokens!.lastTokenNs[row] = last * 1e6;
    table.tokens!.frames[row] = tokens;
    table.tokens!.outputTokens[row] = tokens;
  }
  return table;
}

describe("a run over its time", () => {
  it("has slices of a round length, a hundred at most", () => {
    expect([100, 1000, 5000, 30_000, 61_000, 3_600_000].map(sliceLength)).toEqual([10, 10, 50, 500, 1000, 50_000]);
  });

  // Slices of 10 ms. The first request is in flight from 5 to 35, the second from 30 to 1,050.
  const slices = seriesOf(
    tableOf([
      [0, 5, 6, 15, 25, 35, 11],
      [30, 30, 40, 995, 1050, 1050, 12],
    ]),
    1000,
  );
  it("counts the requests in flight weighted by time", () => {
    expect(slices).toHaveLength(100);
    expect(slices.slice(0, 5).map(({ inFlight }) => Number(inFlight.toFixed(9)))).toEqual([0.5, 1, 1, 1.5, 1]);
    expect(slices.at(-1)!.inFlight).toBeCloseTo(1, 9);
  });
  it("counts the tokens where they arrived: the first at its read, the others evenly until the last", () => {
    expect(slices[1]!.tokens).toBeCloseTo(1 + 5, 5);
    expect(slices[2]!.tokens).toBeCloseTo(5, 5);
    // 995 to 1,000 of the 55 ms that eleven tokens take, and the first.
    expect(slices.at(-1)!.tokens).toBeCloseTo(2, 5);
  });
  it("puts a request where it was due, and its end where it ended within the window", () => {
    expect([slices[0]!.scheduled, slices[3]!.scheduled, slices[3]!.good]).toEqual([1, 1, 1]);
    expect(slices.reduce((sum, { good }) => sum + good, 0)).toBe(1);
    expect(slices[0]!.ttft).toEqual({ p50: 15, p95: 15 });
    expect(slices[3]!.e2e!.p50).toBe(1020);
  });
  it("tells failures apart", () => {
    const [first] = seriesOf(tableOf([[0, 0, 1, 2, 3, 4, 2]], [0]), 100);
    expect(first).toMatchObject({ good: 0, failed: 1, ttft: null });
  });
});

describe("phases", () => {
  it("add up to the request, on the mean and in the slowest", () => {
    const phases = phasesOf(tableOf([[0, 5, 6, 15, 25, 35, 11]]));
    expect(phases.map(({ phase, meanMs }) => [phase, meanMs])).toEqual([
      ["generator", 0],
      ["connection", 5],
      ["first byte", 1],
      ["first token", 9],
      ["further tokens", 10],
      ["end of stream", 10],
    ]);
    expect(phases.reduce((sum, { shareOfMean }) => sum + shareOfMean, 0)).toBeCloseTo(1, 12);
  });
  it("are none without good requests", () => expect(phasesOf(tableOf([[0, 0, 1, 2, 3, 4, 2]], [0]))).toEqual([]));
});
