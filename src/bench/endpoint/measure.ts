/** Measures running endpoints by the question's design, visit after visit; each is in the journal before the next begins. */
import { join } from "node:path";
import type { Json } from "../../base/index.ts";
import type { Journal } from "../../evidence/index.ts";
import { runLoad, type LoadTick, type TraceRequest } from "../../load/index.ts";
import { baseOf, sent, type Caller, type CallerBase } from "./caller.ts";
import { conclude, nextVisit, type Conclusion, type NextVisit } from "./design.ts";
import { checkMetrics, startScraping } from "./server/scrape.ts";
import { callWithPrompts } from "./prompts.ts";
import type { Endpoint, EndpointQuestion } from "./question.ts";
import { callByTemplate } from "./template.ts";
import { callWithTensors } from "./tensors.ts";
import { modeOf, summariseVisit, type EndpointVisit } from "./visit.ts";
import { endKind, questionKind, visitBody, visitKind, type EndpointRun } from "./view.ts";

export interface CallOptions {
  /** Never written anywhere; null = none. */
  key: string | null;
  /** File of the inputs of tensors; null = none. */
  dataPath: string | null;
  /** Where templates find their secrets. */
  environment: Readonly<Record<string, string | undefined>>;
}

/** An endpoint that has answered. */
export interface ReadyEndpoint {
  caller: Caller;
  base: CallerBase;
  /** Where its server's metrics are read; null = nowhere. */
  metrics: { url: string; model: string; headers: Record<string, string> } | null;
}

function callerOf(endpoint: Endpoint, base: CallerBase, { key, dataPath, environment }: CallOptions, signal: AbortSignal): Promise<Caller> {
  switch (endpoint.protocol) {
    case "prompt":
      return callWithPrompts(endpoint, key, base, signal);
    case "oip":
      return callWithTensors(endpoint, dataPath, key, base, signal);
    case "template":
      return callByTemplate(endpoint, environment, base, signal);
  }
}

/** Where the server's metrics are: as asked, or beside the endpoint where that has some. Throws ENDPOINT_REFUSES. */
async function metricsOf(endpoint: Endpoint, asked: string | null, key: string | null): Promise<ReadyEndpoint["metrics"]> {
  if (asked === null) return null;
  const { origin } = new URL(endpoint.url);
  // The key is the endpoint's: nobody else gets it.
  const same = asked === "own" || new URL(asked).origin === origin;
  const headers: Record<string, string> = key === null || !same ? {} : { Authorization: `Bearer ${key}` };
  const found = {
    url: asked === "own" ? `${origin}/metrics` : asked,
    model: "model" in endpoint ? endpoint.model : "",
    headers,
  };
  try {
    await checkMetrics(found.url, headers);
    return found;
  } catch (fault) {
    if (asked === "own") return null;
    throw fault;
  }
}

/** Asks each endpoint what is needed to make its requests. Throws ENDPOINT_REFUSES, and what its data throws. */
export async function readyEndpoints(question: EndpointQuestion, options: CallOptions, signal: AbortSignal): Promise<ReadyEndpoint[]> {
  const ready: ReadyEndpoint[] = [];
  for (const endpoint of question.endpoints) {
    const base = baseOf(endpoint.url, question);
    const caller = await callerOf(endpoint, base, options, signal);
    ready.push({ base, caller, metrics: await metricsOf(endpoint, question.metrics, options.key) });
  }
  return ready;
}

export interface MeasureOptions {
  /** The requests of a trace that are sent, at the speed asked; null = the load is none. */
  trace: readonly TraceRequest[] | null;
  onVisit?: (next: NextVisit, number: number) => void;
  onTick?: (tick: LoadTick) => void;
}

/** Measures until the question is answered. When the signal fires, what was measured so far is kept and returned. Throws what the load generator throws. */
export async function measureEndpoints(
  question: EndpointQuestion,
  ready: readonly ReadyEndpoint[],
  journal: Journal,
  { trace, onVisit, onTick }: MeasureOptions,
  signal: AbortSignal,
): Promise<EndpointRun> {
  journal.append(questionKind, question as unknown as Json);
  const visits: EndpointVisit[] = [];
  const { warmUpMs, seed } = question;
  const dueMs = trace?.map(({ atMs }) => atMs) ?? [];
  for (let next = nextVisit(question, visits); next && !signal.aborted; next = nextVisit(question, visits)) {
    onVisit?.(next, visits.length);
    const { caller, base, metrics } = ready[next.endpoint]!;
    // Both endpoints of a pair get the same work.
    const number = question.design.kind === "against" ? visits.length >> 1 : visits.length;
    const own = `${seed}/${number}`;
    const records = `records/${String(visits.length).padStart(3, "0")}-load.arrow.gz`;
    const scraper = metrics && (await startScraping(metrics.url, metrics.model, metrics.headers));
    const startedAt = new Date().toISOString();
    const { table, context } = await runLoad(
      {
        ...base,
        ...sent(caller.requests(own, trace)),
        seed: own,
        speech: caller.speech,
        order: trace ? "once" : "shuffled",
        mode: modeOf(next.load, next.durationMs, dueMs),
        warmUpMs: trace ? 0 : warmUpMs,
        recordsPath: join(journal.folder, records),
      },
      signal,
      onTick,
    );
    const server = (await scraper?.end()) ?? null;
    const visit = summariseVisit(question, { ...next, startedAt, context, server }, table);
    journal.append(visitKind, visitBody(visit), [records]);
    visits.push(visit);
  }
  const conclusion: Conclusion = conclude(question, visits);
  journal.append(endKind, JSON.parse(JSON.stringify(conclusion)) as Json);
  return { question, visits, conclusion };
}
