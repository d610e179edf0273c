/** An endpoint made ready to be loaded: how it is spoken to, and the requests that a visit sends. */
import { AssayError } from "../../base/index.ts";
import { runLoad, summarise, type EncodedRequest, type LoadPlan, type LoadRun, type Speech, type TraceRequest } from "../../load/index.ts";
import { placeOf } from "./place.ts";
import type { EndpointQuestion } from "./question.ts";

export interface Caller {
  speech: Speech;
  /** Requests to draw from, or one for each of the trace's. */
  requests(seed: string, trace: readonly TraceRequest[] | null): readonly EncodedRequest[];
}

export type CallerBase = Omit<LoadPlan, "requests" | "uniqueAt" | "mode" | "order" | "warmUpMs" | "speech">;

/** What every load against that URL has in common. */
export const baseOf = (url: string, { timeoutMs, connections, seed }: EndpointQuestion): CallerBase => {
  const { host, port, secure } = placeOf(url);
  return { host, port, secure, timeoutMs, cap: { connections, policy: "queue" }, seed };
};

export const sent = (requests: readonly EncodedRequest[]): Pick<LoadPlan, "requests" | "uniqueAt"> => ({
  requests: requests.map(({ bytes }) => bytes),
  uniqueAt: requests.map(({ uniqueAt }) => uniqueAt),
});

/** Sends one request by itself. Throws ENDPOINT_REFUSES with what came back where it is not answered well. */
export async function askOnce(
  url: string,
  base: CallerBase,
  speech: Speech,
  request: EncodedRequest,
  signal: AbortSignal,
): Promise<LoadRun> {
  const run = await runLoad(
    {
      ...base,
      speech,
      ...sent([request]),
      mode: { kind: "closed", concurrency: 1, durationMs: null },
      order: "once",
      warmUpMs: 0,
      keepBodies: true,
    },
    signal,
  );
  signal.throwIfAborted();
  const { table, context, bodies } = run;
  if (table.length > 0 && table.outcome[0] === 0) return run;
  const [kept] = bodies;
  const said =
    context.peculiarities?.map(([what]) => what).join("; ") ??
    (kept && `HTTP ${kept.status}: ${Buffer.from(kept.body).toString("utf8").slice(0, 200)}`);
  const { ledger } = summarise(table, context, { latencyLimitMs: null });
  const outcome = Object.entries(ledger).find(([, count]) => count > 0)?.[0] ?? "nothing was sent";
  throw new AssayError("ENDPOINT_REFUSES", `${url}: the first request ended as ${outcome}${said ? `: ${said}` : ""}`);
}
