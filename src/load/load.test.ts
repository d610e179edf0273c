import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { randomStream } from "../base/index.ts";
import { createAnswerReader, parseTiming } from "./http/answer.ts";
import { createJudge, decodeInfer, encodeInfer } from "./oip/infer.ts";
import { createTable, openRecords, outcomeNumber, readRecords, type OutcomeClass, type RecordTable } from "./records.ts";
import { drawLength, type Lengths } from "./lengths.ts";
import { arrivalTimes, itemOrder } from "./schedule.ts";
import { summarise } from "./summary.ts";
import type { LoadContext } from "./plan.ts";

const meanAndSd = (values: number[]): [number, number] => {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return [mean, Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1))];
};
const gapsOf = (next: () => number, n: number): number[] => {
  const times = Array.from({ length: n }, next);
  return times.slice(1).map((at, i) => at - times[i]!);
};

describe("arrivals", () => {
  it("named constant have no spread", () => {
    const [mean, sd] = meanAndSd(gapsOf(arrivalTimes({ kind: "constant" }, { kind: "constant", perSecond: 10 }, "42"), 1000));
    expect(mean).toBeCloseTo(100, 9);
    expect(sd).toBeLessThan(1e-9);
  });
  it("named poisson have CV 1, counts per second with dispersion 1, and no memory", () => {
    const next = arrivalTimes({ kind: "poisson" }, { kind: "constant", perSecond: 10 }, "42");
    const times = Array.from({ length: 40_000 }, next);
    const gaps = times.slice(1).map((at, i) => at - times[i]!);
    const [mean, sd] = meanAndSd(gaps);
    expect(mean).toBeCloseTo(100, -1);
    expect(sd / mean).toBeGreaterThan(0.97);
    expect(sd / mean).toBeLessThan(1.03);
    const counts = new Array<number>(Math.floor(times.at(-1)! / 1000)).fill(0);
    for (const at of times) if (at < counts.length * 1000) counts[Math.floor(at / 1000)]!++;
    const [perSecond, spread] = meanAndSd(counts);
    expect(spread ** 2 / perSecond).toBeGreaterThan(0.9);
    expect(spread ** 2 / perSecond).toBeLessThan(1.1);
    const lag1 = gaps.slice(1).reduce((sum, gap, i) => sum + (gap - mean) * (gaps[i]! - mean), 0) / gaps.length / sd ** 2;
    expect(Math.abs(lag1)).toBeLessThan(0.02);
  });
  it("of a gamma have the CV that was asked", () => {
    for (const cv of [0.5, 2]) {
      const [mean, sd] = meanAndSd(gapsOf(arrivalTimes({ kind: "gamma", cv }, { kind: "constant", perSecond: 100 }, "7"), 40_000));
      expect(sd / mean / cv).toBeGreaterThan(0.94);
      expect(sd / mean / cv).toBeLessThan(1.06);
    }
  });
  it("are the same for the same seed and others for another", () => {
    const first = (seed: string): number[] =>
      Array.from({ length: 5 }, arrivalTimes({ kind: "poisson" }, { kind: "constant", perSecond: 10 }, seed));
    expect(first("a")).toEqual(first("a"));
    expect(first("a")).not.toEqual(first("b"));
  });
});

describe("a rate that moves", () => {
  it("rises evenly: 0 to 20/s in 10 s is 100 requests, the k-th at √k seconds", () => {
    const next = arrivalTimes({ kind: "constant" }, { kind: "ramp", fromPerSecond: 0, toPerSecond: 20, durationMs: 10_000 }, "s");
    const times = Array.from({ length: 101 }, next);
    for (const k of [0, 1, 4, 25, 81, 100]) expect(times[k]).toBeCloseTo(1000 * Math.sqrt(k), 6);
  });
  it("falls evenly to nothing", () => {
    const next = arrivalTimes({ kind: "constant" }, { kind: "ramp", fromPerSecond: 20, toPerSecond: 0, durationMs: 10_000 }, "s");
    const times = Array.from({ length: 100 }, next);
    // What is left of it falls as the square of the time that is left.
    for (const k of [0, 19, 75, 96]) expect(times[k]).toBeCloseTo(10_000 - 1000 * Math.sqrt(100 - k), 6);
  });
  it("goes by steps, each for its time, none where it is 0", () => {
    const next = arrivalTimes({ kind: "constant" }, { kind: "steps", perSecond: [10, 0, 40], eachMs: 1000 }, "s");
    const times = Array.from({ length: 51 }, next);
    expect(times.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, k) => 100 * k));
    expect(times.slice(11, 15).map((at) => Math.round(at))).toEqual([2025, 2050, 2075, 2100]);
    expect(times[50]).toBeCloseTo(3000, 6);
  });
  it("keeps the spread that was named, and the first rate in the warm-up", () => {
    const profile = { kind: "ramp", fromPerSecond: 50, toPerSecond: 150, durationMs: 100_000 } as const;
    const next = arrivalTimes({ kind: "poisson" }, profile, "s", 10_000);
    const times = Array.from({ length: 11_500 }, next);
    const between = (from: number, to: number): number => times.filter((at) => at >= from && at < to).length;
    // 50/s for 10 s; then 10,000 in the window, a quarter of the time after its start 25 × 62.5 of them: 3 sd either way.
    expect(Math.abs(between(0, 10_000) - 500)).toBeLessThan(3 * Math.sqrt(500));
    expect(Math.abs(between(10_000, 35_000) - 1562.5)).toBeLessThan(3 * Math.sqrt(1562.5));
    expect(Math.abs(between(10_000, 110_000) - 10_000)).toBeLessThan(3 * Math.sqrt(10_000));
  });
});

describe("lengths", () => {
  const drawn = (lengths: Lengths): number[] => {
    const stream = randomStream("s", "lengths");
    return Array.from({ length: 20_000 }, () => drawLength(lengths, stream));
  };
  it("are drawn from what was named", () => {
    expect(new Set(drawn({ kind: "fixed", tokens: 7 }))).toEqual(new Set([7]));
    const [mean, sd] = meanAndSd(drawn({ kind: "normal", mean: 500, sd: 40 }));
    expect(Math.abs(mean - 500)).toBeLessThan(1.5);
    expect(Math.abs(sd - 40)).toBeLessThan(1.5);
    const logs = meanAndSd(drawn({ kind: "lognormal", median: 400, sigma: 0.5 }).map((tokens) => Math.log(tokens)));
    expect(Math.abs(logs[0] - Math.log(400))).toBeLessThan(0.02);
    expect(Math.abs(logs[1] - 0.5)).toBeLessThan(0.02);
    const uniform = drawn({ kind: "uniform", from: 3, to: 6 });
    for (const value of [3, 4, 5, 6]) expect(Math.abs(uniform.filter((one) => one === value).length - 5000)).toBeLessThan(300);
    const empirical = drawn({ kind: "empirical", values: [1, 9, 9, 9] });
    expect(Math.abs(empirical.filter((one) => one === 9).length - 15_000)).toBeLessThan(300);
    expect(Math.min(...drawn({ kind: "normal", mean: 2, sd: 50 }))).toBe(1);
  });
});

describe("the order of items", () => {
  it("sends each once, in order, then ends", () => {
    const next = itemOrder("once", 3, "s");
    expect([next(), next(), next(), next()]).toEqual([0, 1, 2, null]);
  });
  it("passes over all before it repeats any", () => {
    const next = itemOrder("shuffled", 50, "s");
    const pass = (): number[] => Array.from({ length: 50 }, () => next()!);
    const [first, second] = [pass(), pass()];
    expect([...first].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(new Set(second).size).toBe(50);
    expect(first).not.toEqual(second);
  });
});

describe("answers on a socket", () => {
  const head =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer-Timing: queue;dur=1.5, compute;dur=0.25, batch;desc=4\r\nInference-Header-Content-Length: 2\r\n\r\n";
  it("are the same however they are split", () => {
    const bytes = Buffer.from(`${head}hello`);
    for (let cut = 1; cut < bytes.byteLength; cut++) {
      const reader = createAnswerReader();
      expect(reader.push(bytes.subarray(0, cut))).toBeNull();
      const answer = reader.push(bytes.subarray(cut))!;
      expect(Buffer.from(answer.body).toString()).toBe("hello");
      expect(answer).toMatchObject({ status: 200, headerBytes: 2, keepAlive: true });
      expect(parseTiming(answer.timing)).toEqual({ queueUs: 1500, computeUs: 250, batch: 4 });
    }
  });
  it("follow each other, large and small, and after one that only announces", () => {
    const reader = createAnswerReader();
    const answerOf = (body: string): Buffer =>
      Buffer.from(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    for (const body of ["x".repeat(5000), "short", "y".repeat(9000), ""]) {
      const bytes = answerOf(body);
      let found: string | null = null;
      for (let at = 0; at < bytes.byteLength; at += 7) {
        const answer = reader.push(bytes.subarray(at, at + 7));
        if (answer) found = Buffer.from(answer.body).toString();
      }
      expect(found).toBe(body);
      expect(reader.begun()).toBe(false);
    }
  });
  it("come in chunks, and end with the connection where nothing else says so", () => {
    const chunked = createAnswerReader();
    expect(chunked.push(Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"))).toBeNull();
    expect(Buffer.from(chunked.push(Buffer.from("2\r\nde\r\n0\r\n\r\n"))!.body).toString()).toBe("abcde");
    const open = createAnswerReader();
    expect(open.push(Buffer.from("HTTP/1.0 200 OK\r\n\r\nabc"))).toBeNull();
    expect(Buffer.from(open.end()!.body).toString()).toBe("abc");
    const cut = createAnswerReader();
    cut.push(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"));
    expect(cut.end()).toBeNull();
  });
  it("that are no HTTP are refused", () => {
    expect(() => createAnswerReader().push(Buffer.from("SSH-2.0 hello\r\n\r\n"))).toThrow(/no HTTP/);
  });
});

describe("Open Inference Protocol", () => {
  it("encodes texts as length and bytes", () => {
    const bytes = encodeInfer({
      host: "h",
      port: 1,
      model: "m",
      inputs: [{ name: "t", tensor: { datatype: "BYTES", shape: [2], data: ["a", "bcd"] } }],
      outputs: ["o"],
      binary: true,
    });
    expect(Buffer.from(bytes).toString("hex").endsWith("010000006103000000626364")).toBe(true);
  });
  it("decodes binary and JSON outputs alike", () => {
    const json = Buffer.from('{"outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[0.5,-2]}]}');
    const head = Buffer.from('{"outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}');
    const binary = Buffer.concat([head, Buffer.from("0000003f000000c0", "hex")]);
    expect(decodeInfer(null, json).get("y")).toEqual(decodeInfer(head.byteLength, binary).get("y"));
    expect([...(decodeInfer(head.byteLength, binary).get("y")!.data as Float32Array)]).toEqual([0.5, -2]);
  });
  it("calls an answer good only with every output and all its bytes", () => {
    const judge = createJudge(["y"]);
    const head = Buffer.from('{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}');
    const whole = Buffer.concat([head, Buffer.alloc(4)]);
    expect(judge(200, head.byteLength, whole)).toBe("good");
    expect(judge(200, head.byteLength, whole)).toBe("good");
    expect(judge(200, head.byteLength, whole.subarray(0, -1))).toBe("protocol_error");
    expect(judge(200, null, Buffer.from("OK"))).toBe("protocol_error");
    expect(judge(200, null, Buffer.from('{"outputs":[]}'))).toBe("protocol_error");
    expect(judge(503, null, Buffer.from("{}"))).toBe("throttled");
    expect(judge(429, null, Buffer.from("{}"))).toBe("throttled");
    expect(judge(500, null, Buffer.from("{}"))).toBe("http_error");
  });
});

const context: LoadContext = {
  openRatePerSecond: 100,
  windowMs: 1000,
  timeoutMs: 2000,
  stalls: [],
  pauses: [],
  inFlight: [],
  stolenRatio: null,
  connections: 1,
};

/** Requests every 10 ms, each lasting as said; lag and outcome where given. */
function tableOf(latencies: number[], more: { lagMs?: number; outcomes?: OutcomeClass[] } = {}): RecordTable {
  const table = createTable(latencies.length, false);
  latencies.forEach((ms, i) => {
    const due = i * 10e6;
    table.index[i] = i;
    table.scheduledNs[i] = due;
    table.issuedNs[i] = table.sentNs[i] = due + (more.lagMs ?? 0) * 1e6;
    table.firstByteNs[i] = table.doneNs[i] = due + ms * 1e6;
    table.outcome[i] = outcomeNumber(more.outcomes?.[i] ?? "good");
    table.queueUs[i] = 100;
    table.computeUs[i] = 300;
  });
  return table;
}

describe("the summary of a run", () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  it("counts latency from the schedule and sums the ledger to what was scheduled", () => {
    const summary = summarise(tableOf(hundred), context, { latencyLimitMs: null });
    expect(summary.latencyMs[98]).toBe(99);
    expect(Object.values(summary.ledger).reduce((a, b) => a + b, 0)).toBe(100);
    expect(summary.valid).toBe(true);
    const { client, network, queue, compute } = summary.stages!.mean;
    expect([client, network, queue, compute].map((value) => Number(value.toFixed(6)))).toEqual([0, 50.1, 0.1, 0.3]);
  });
  it("counts what never came as the timeout, and a refusal too", () => {
    const outcomes: OutcomeClass[] = hundred.map((_, i) => (i === 0 ? "timeout" : i === 1 ? "throttled" : "good"));
    const summary = summarise(tableOf(hundred, { outcomes }), context, { latencyLimitMs: null });
    expect(Array.from(summary.latencyMs.slice(-2))).toEqual([2000, 2000]);
    expect(summary.succeeded).toBe(98);
    expect(summary.ledger).toMatchObject({ timeout: 1, throttled: 1, good: 98 });
  });
  it("is void when the generator itself was late, unless host stalls explain it", () => {
    expect(summarise(tableOf(hundred, { lagMs: 2 }), context, { latencyLimitMs: 10 }).reasons[0]).toMatch(/lag p99 2 ms/);
    expect(summarise(tableOf(hundred, { lagMs: 2 }), context, { latencyLimitMs: 1000 }).valid).toBe(true);
    const stalled = summarise(tableOf(hundred, { lagMs: 2 }), { ...context, stalls: [[0, 1000]] }, { latencyLimitMs: 10 });
    expect(stalled).toMatchObject({ valid: true, tainted: true });
    expect(stalled.calmLatencyMs).toHaveLength(0);
  });
  it("takes out the requests that a stall touched, and only those", () => {
    const summary = summarise(tableOf(hundred.map(() => 5)), { ...context, stalls: [[102, 6]] }, { latencyLimitMs: null });
    expect(summary.calmLatencyMs).toHaveLength(99);
  });
  it("sees latency that grows as drift", () => {
    expect(summarise(tableOf(hundred.map((i) => i * 2)), context, { latencyLimitMs: null }).drift).toBeCloseTo(0.2, 1);
    expect(Math.abs(summarise(tableOf(hundred.map(() => 3)), context, { latencyLimitMs: null }).drift)).toBeLessThan(1e-9);
  });
  it("is void when Little's law is broken", () => {
    // 100 requests a second of 50 ms each: 5 in flight.
    const inFlight = (each: number): [number, number][] =>
      Array.from({ length: 10 }, (_, i): [number, number] => [200, 200 * (each + (i % 2) * 0.01)]);
    const table = tableOf(hundred.map(() => 50));
    expect(summarise(table, { ...context, inFlight: inFlight(4.9) }, { latencyLimitMs: null }).valid).toBe(true);
    expect(summarise(table, { ...context, inFlight: inFlight(2.5) }, { latencyLimitMs: null }).reasons[0]).toMatch(/Little/);
  });
  it("of an aborted run is void", () => {
    const outcomes: OutcomeClass[] = hundred.map((_, i) => (i > 90 ? "cancelled" : "good"));
    const summary = summarise(tableOf(hundred, { outcomes }), context, { latencyLimitMs: null });
    expect(summary.reasons[0]).toMatch(/9 requests were cancelled/);
    expect(summary.scheduled).toBe(91);
  });
});

describe("records on disk", () => {
  it("come back as they were", async () => {
    const folder = mkdtempSync(join(tmpdir(), "assay-records-"));
    const path = join(folder, "r.arrow.gz");
    const table = tableOf([1, 2, 3], { lagMs: 0.5 });
    const writer = openRecords(path);
    writer.write(table);
    writer.write(tableOf([4]));
    await writer.close();
    const back = readRecords(path);
    expect(back.length).toBe(4);
    expect([...back.doneNs]).toEqual([1e6, 12e6, 23e6, 4e6]);
    expect(back.issuedNs[0]).toBe(500_000);
    rmSync(folder, { recursive: true });
  });
});
