/** One visit of an endpoint: what was sent to it under which load, and the figures of its records. */
import { z } from "zod";
import { figure } from "../../base/index.ts";
import {
  loadContextSchema,
  summarise,
  summariseFigures,
  sustainedDrift,
  type Figures,
  type LoadContext,
  type LoadPlan,
  type RecordTable,
  type RunSummary,
} from "../../load/index.ts";
import { misfits, serverSchema } from "./server/told.ts";
import { loadSchema, type EndpointLoad, type EndpointQuestion } from "./question.ts";

/** What a journal keeps of a visit besides its records. */
export const visitSchema = z.object({
  endpoint: z.int().min(0).describe("which of the question's endpoints"),
  load: loadSchema,
  startedAt: z.string().describe("when, as ISO 8601"),
  durationMs: z.number().describe("length of the window, milliseconds"),
  context: loadContextSchema,
  server: serverSchema.nullable(),
});
export type VisitRecord = z.infer<typeof visitSchema>;

export interface EndpointVisit extends VisitRecord {
  table: RecordTable;
  run: RunSummary;
  figures: Figures;
}

/** Requests per second that a load asks for on average; null = it asks for none. */
export function rateOf(load: EndpointLoad, context?: LoadContext): number | null {
  switch (load.kind) {
    case "open":
      return load.ratePerSecond;
    case "ramp":
      return (load.fromPerSecond + load.toPerSecond) / 2;
    case "steps":
      return load.ratesPerSecond.reduce((sum, rate) => sum + rate, 0) / load.ratesPerSecond.length;
    case "trace":
      return context?.openRatePerSecond ?? null;
    case "closed":
      return null;
  }
}

/** How the sender is to send it. @param dueMs of a trace, milliseconds */
export function modeOf(load: EndpointLoad, durationMs: number, dueMs: readonly number[]): LoadPlan["mode"] {
  switch (load.kind) {
    case "open":
      return { kind: "open", arrival: load.arrival, ratePerSecond: load.ratePerSecond, durationMs };
    case "ramp": {
      const { fromPerSecond, toPerSecond, arrival } = load;
      return {
        kind: "open",
        arrival,
        ratePerSecond: rateOf(load)!,
        durationMs,
        profile: { kind: "ramp", fromPerSecond, toPerSecond, durationMs },
      };
    }
    case "steps": {
      const { ratesPerSecond: perSecond, arrival } = load;
      return {
        kind: "open",
        arrival,
        ratePerSecond: rateOf(load)!,
        durationMs,
        profile: { kind: "steps", perSecond, eachMs: durationMs / perSecond.length },
      };
    }
    case "closed":
      return { kind: "closed", concurrency: load.concurrency, durationMs };
    case "trace":
      return { kind: "trace", dueMs };
  }
}

/** Share of the prompt tokens out of the server's cache, above which a run measured the cache: a chat's own first words are always in it. */
const cachedShare = 0.1;
/** Share of the requests that may be throttled. */
const throttledShare = 0.01;

/** Why the figures are not those of the work that was asked, though the generator did its part. */
function clouded(
  { endpoints }: EndpointQuestion,
  { endpoint, load, context, server }: VisitRecord,
  table: RecordTable,
  { ledger }: RunSummary,
  { cachedRatio }: Figures,
): string[] {
  const asked = endpoints[endpoint]!;
  const cacheIsAsked = load.kind === "trace" || (asked.protocol === "prompt" && asked.sharedRatio > 0);
  const before = context.warmUp ?? { sent: 0, good: 0 };
  const sent = before.sent + table.sentNs.reduce((sum, at) => sum + (Number.isNaN(at) ? 0 : 1), 0);
  return [
    ...(ledger.throttled > throttledShare * table.length ? [`the server throttled ${ledger.throttled} of ${table.length} requests`] : []),
    ...(!cacheIsAsked && cachedRatio !== null && cachedRatio > cachedShare
      ? [`${figure(100 * cachedRatio)} % of the prompt tokens came out of the server's cache, though every prompt is new`]
      : []),
    ...(server ? misfits(server, { sent, good: before.good + ledger.good }) : []),
  ];
}

/** The figures of a visit's records. */
export function summariseVisit(question: EndpointQuestion, visit: VisitRecord, table: RecordTable): EndpointVisit {
  const { load, context } = visit;
  const { targets } = question;
  const latencies = targets.filter(({ tag }) => tag === "ttft" || tag === "e2e").map(({ limit }) => limit);
  const run = summarise(table, context, { latencyLimitMs: latencies.length === 0 ? null : Math.min(...latencies) });
  if (load.kind === "open" && run.drift > sustainedDrift) {
    run.valid = false;
    run.reasons.push(`latency grew by ${figure(1000 * run.drift)} ms each second: the server does not sustain the rate`);
  }
  const figures = summariseFigures(table, context, targets, run.valid && !run.tainted);
  // Behind the targets: a server that throttles may well miss one.
  const reasons = clouded(question, visit, table, run, figures);
  if (reasons.length > 0) run.valid = false;
  run.reasons.push(...reasons);
  return { ...visit, table, run, figures };
}
