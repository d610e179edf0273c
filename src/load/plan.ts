/** What a run is asked to do, and what it tells besides its records. */
import { z } from "zod";
import type { Speech } from "./protocols.ts";
import type { Arrival, RateProfile } from "./schedule.ts";

export interface LoadPlan {
  speech: Speech;
  host: string;
  port: number;
  /** Whether the connection is TLS. */
  secure?: boolean;
  /** Complete HTTP/1.1 requests; one is drawn for each arrival. */
  requests: readonly Uint8Array[];
  /** Where each request has ten bytes that are replaced by its place in the schedule, so that no two are alike; absent = none. */
  uniqueAt?: readonly (number | undefined)[];
  /** shuffled = passes over all requests in random order; once = each exactly once, in order, then the run ends. */
  order: "shuffled" | "once";
  mode:
    | {
        kind: "open";
        arrival: Arrival;
        /** The mean over the window. */ ratePerSecond: number;
        /** How the rate moves; absent = it does not. */ profile?: RateProfile;
        durationMs: number;
      }
    /** @property dueMs when each request is due, ascending, milliseconds from the window's start */
    | { kind: "trace"; dueMs: readonly number[] }
    | { kind: "closed"; concurrency: number; /** null = until every request was sent once */ durationMs: number | null };
  /** The same load before the window, handed over without draining and not recorded, milliseconds. */
  warmUpMs: number;
  timeoutMs: number;
  /** Most connections. Beyond it: queue = sent late, the wait is queue time; drop = the request is `unsent`. */
  cap: { connections: number; policy: "queue" | "drop" };
  /** Root of the streams `arrivals` and `items`. */
  seed: string;
  /** Whether to return the bodies of the answers. */
  keepBodies?: boolean;
  /** Whether the sending thread tells how it goes, twice a second. */
  ticks?: boolean;
  /** Arrow file of the records. */
  recordsPath?: string;
}

/** How a run goes, of all its requests so far, the warm-up's included. */
export interface LoadTick {
  /** Since the window began, milliseconds; below 0 = the warm-up. */
  atMs: number;
  inFlight: number;
  /** Requests that wait for a connection. */
  waiting: number;
  /** By outcome class. */
  ended: readonly number[];
  /** Mean latency of those that ended well since the last tick, milliseconds; NaN = none. */
  latencyMs: number;
  /** Mean time to first token of those; NaN = none. */
  ttftMs: number;
  /** Tokens of those. */
  tokens: number;
  /** The largest lag of the generator since the last tick, milliseconds. */
  lagMs: number;
}

const pair = z.tuple([z.number(), z.number()]);

/** What the records cannot hold. Times in milliseconds since the window's start. */
export const loadContextSchema = z.object({
  openRatePerSecond: z.number().nullable().describe("offered rate, requests per second; null = closed loop"),
  windowMs: z.number().describe("length of the window"),
  timeoutMs: z.number(),
  stalls: z.array(pair).describe("[start, length] of host stalls: the sender or the watcher did not run, and nothing of ours explains it"),
  pauses: z.array(pair).describe("[start, length] of the sender's garbage collections above 1 ms"),
  inFlight: z.array(pair).describe("[samples, sum] of requests in flight, sampled by the clock, one entry a tenth of the window"),
  stolenRatio: z.number().nullable().describe("CPU time the host took, 0–1; null = not told"),
  connections: z.number().int().describe("connections opened, warm-up included"),
  gaps: z
    .object({ zero: z.number().int(), counts: z.array(pair) })
    .optional()
    .describe("gaps between token-bearing events: how many were none, and [bucket, count] of the others; 128 buckets an octave from 1 µs"),
  warmUp: z.object({ sent: z.number().int(), good: z.number().int() }).optional().describe("requests of the warm-up"),
  carriedTokens: z.number().optional().describe("output tokens inside the window of requests that were sent before it"),
  peculiarities: z
    .array(z.tuple([z.string(), z.number().int()]))
    .optional()
    .describe("how often the server's answers departed from its protocol, by kind"),
});
export type LoadContext = z.infer<typeof loadContextSchema>;
