/** The load generator against the truth server: what the script says is what the records say. */
import { afterEach, describe, expect, it } from "vitest";
import { encodePrompt, hasTokens, runLoad, summarise, summariseFigures, type LoadPlan } from "../src/load/index.ts";
import { parseTruthScript, startTruthServer } from "../src/truth/index.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Runs requests one after another, or by a plan, against a script. */
async function measure(script: string, more: Partial<LoadPlan> = {}) {
  const server = await startTruthServer(parseTruthScript(script), { host: "127.0.0.1", port: 0 });
  closers.push(() => server.close());
  const place = { host: "127.0.0.1", port: server.port, path: "/v1" };
  const { bytes, uniqueAt } = encodePrompt(
    "openai-chat",
    place,
    null,
    { model: "truth", prompt: "0000000000 hello", maxTokens: 8, stream: true },
    {},
  );
  const { table, context } = await runLoad({
    speech: { protocol: "prompt", api: "openai-chat", stream: true },
    host: place.host,
    port: place.port,
    requests: Array.from({ length: 4 }, () => bytes),
    uniqueAt: Array.from({ length: 4 }, () => uniqueAt),
    order: "once",
    mode: { kind: "closed", concurrency: 1, durationMs: null },
    warmUpMs: 0,
    timeoutMs: 1500,
    cap: { connections: 8, policy: "queue" },
    seed: "1",
    ...more,
  });
  if (!hasTokens(table)) throw new Error("no tokens");
  const run = summarise(table, context, { latencyLimitMs: 1000 });
  const tokens = summariseFigures(table, context, [], true);
  const meanOf = (tag: string): number => tokens.metrics.find((metric) => metric.tag === tag)!.mean!;
  return { server, table, context, run, tokens, meanOf };
}

/** A measured time is the scripted one and what a busy machine adds. */
const near = (measured: number, scripted: number): void => {
  expect(measured).toBeGreaterThanOrEqual(scripted - 0.5);
  expect(measured).toBeLessThan(scripted + 25);
};

const answer = (frames: string, more = ""): string => `answers:\n  - ${more}\n    frames:\n${frames}`;

describe("the load generator against scripted times", () => {
  it("measures TTFT at the first content, TPOT between contents, E2E at the last; role, usage and [DONE] are no tokens", async () => {
    const { meanOf, table, run, context } = await measure(
      answer(
        [
          "      - { at: 20, role: assistant }",
          "      - { at: 200, content: a, times: 5, everyMs: 20 }",
          "      - { at: 300, finish: stop }",
          "      - { at: 330, usage: { prompt: 9, completion: 5 } }",
          "      - { at: 340, done: true }",
        ].join("\n"),
        "headAt: 0",
      ),
    );
    expect(run.ledger.good).toBe(4);
    near(meanOf("ttft"), 200);
    near(meanOf("e2e"), 280);
    expect(Math.abs(meanOf("tpot") - 20)).toBeLessThan(5);
    expect([...table.tokens.outputTokens]).toEqual([5, 5, 5, 5]);
    expect(context.connections).toBe(1);
    expect(context.peculiarities).toBeUndefined();
    near((table.doneNs[0]! - table.scheduledNs[0]!) / 1e6, 340);
  });

  it("tells apart every ending, and scores only whole answers as good", async () => {
    const { table, run, context } = await measure(
      `
answers:
  - frames: [{ at: 5, content: a }, { at: 10, finish: stop }, { at: 10, done: true }]
  - frames: [{ at: 5, content: a, times: 2 }, { at: 10, error: it broke }, { at: 10, done: true }]
  - frames: [{ at: 5, content: a }]
    end: cut
  - status: 429
    retryAfterSeconds: 1
  - status: 500
  - frames: [{ at: 5, content: a }]
    end: hang
  - frames: [{ at: 5, role: assistant }, { at: 6, finish: stop }, { at: 6, done: true }]
`,
      {
        requests: Array.from(
          { length: 7 },
          () =>
            encodePrompt(
              "openai-completions",
              { host: "h", port: 1, path: "" },
              "secret",
              { model: "m", prompt: "0000000000", maxTokens: 1, stream: true },
              {},
            ).bytes,
        ),
        uniqueAt: [],
      },
    );
    expect(run.ledger).toMatchObject({ good: 1, stream_error: 2, throttled: 1, http_error: 1, timeout: 1, protocol_error: 1 });
    expect([...table.tokens.frames]).toEqual([1, 2, 1, 0, 0, 1, 0]);
    expect(context.peculiarities!.map(([what]) => what)).toContain("an error under HTTP 200: it broke");
  });

  it("sends no two requests alike, and shows a freeze of the server as the wait that it was", async () => {
    const { run, table, server } = await measure(
      `
freeze: { at: 300, forMs: 600 }
answers:
  - frames: [{ at: 1, content: a }, { at: 1, finish: stop }, { at: 1, usage: { prompt: 1, completion: 1 } }, { at: 1, done: true }]
`,
      { order: "shuffled", mode: { kind: "open", arrival: { kind: "constant" }, ratePerSecond: 50, durationMs: 1200 }, timeoutMs: 5000 },
    );
    expect(run.scheduled).toBe(60);
    expect(run.ledger.good).toBe(60);
    expect(server.requests()).toBe(60);
    const waits = Array.from(table.tokens.firstTokenNs, (first, row) => (first - table.scheduledNs[row]!) / 1e6);
    // Those due during the freeze wait for its end: at 50 a second about thirty of them, half of them for more than 300 ms.
    expect(waits.filter((wait) => wait > 250).length).toBeGreaterThanOrEqual(12);
    expect(Math.max(...waits)).toBeGreaterThan(500);
  });

  it("gives several tokens per event their count, coalesced events zero gaps, and reasoning its own clock", async () => {
    const { meanOf, tokens, table } = await measure(
      answer(
        [
          "      - { at: 50, reasoning: hm, times: 4, usage: { prompt: 3, completion: 2, reasoning: 2 } }",
          "      - { at: 150, content: two words, usage: { prompt: 3, completion: 10, reasoning: 8 } }",
          "      - { at: 160, finish: stop }",
          "      - { at: 160, done: true }",
        ].join("\n"),
        "lineEnd: crlf",
      ),
    );
    near(meanOf("ttft"), 50);
    near(meanOf("ttfv"), 150);
    expect([...table.tokens.firstTokens]).toEqual([2, 2, 2, 2]);
    expect(Math.abs(meanOf("tpot") - 100 / 8)).toBeLessThan(3);
    expect(tokens.gaps).toMatchObject({ count: 16, zeroRatio: 0.75 });
    expect(tokens.tokensPerFrame).toBe(2);
  });
});
