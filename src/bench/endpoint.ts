/**
 * One run against an endpoint that streams tokens: lengths of prompts are fitted to the server's own
 * count first, then the load runs, and the records are summed up.
 */
import { z } from "zod";
import { join } from "node:path";
import { AssayError, figure, randomStream, type Json } from "../base/index.ts";
import { checkFiles, readJournal, type Entry } from "../evidence/index.ts";
import {
  drawPrompt,
  encodeCompletion,
  hasTokens,
  loadContextSchema,
  readRecords,
  runLoad,
  summarise,
  summariseTokens,
  sustainedDrift,
  tokenTags,
  type ApiPlace,
  type LoadContext,
  type LoadPlan,
  type RecordTable,
  type RunSummary,
  type TokenSummary,
} from "../load/index.ts";

const arrivalSchema = z.union([
  z.strictObject({ kind: z.enum(["constant", "poisson"]) }),
  z.strictObject({ kind: z.literal("gamma"), cv: z.number().describe("coefficient of variation of the gaps") }),
]);

/** What a run is asked to measure; no secret is in it. */
export const endpointQuestionSchema = z.strictObject({
  url: z.string().describe("base URL of the API"),
  api: z.enum(["chat", "completions"]).describe("which call"),
  model: z.string().describe("model's name in the request"),
  load: z
    .union([
      z.strictObject({
        kind: z.literal("open"),
        ratePerSecond: z.number().describe("requests per second"),
        arrival: arrivalSchema.describe("how they are spread"),
      }),
      z.strictObject({ kind: z.literal("closed"), concurrency: z.int().describe("requests in flight") }),
    ])
    .describe("open = by a schedule, whatever the server does; closed = the next one when one ends"),
  durationMs: z.number().describe("length of the window, milliseconds"),
  warmUpMs: z.number().describe("the same load before it, not counted, milliseconds"),
  timeoutMs: z.number().describe("when a request is given up, milliseconds"),
  connections: z.int().describe("most connections; beyond it requests wait, and the wait counts"),
  inputTokens: z.int().describe("prompt length asked for, tokens"),
  outputTokens: z.int().describe("most tokens of an answer"),
  targets: z
    .array(
      z.strictObject({
        tag: z.enum(tokenTags),
        p: z.number().describe("percentile, 0–1"),
        limit: z.number().describe("in the metric's unit"),
      }),
    )
    .describe("limits on percentiles"),
  seed: z.string().describe("root of all random streams"),
  more: z.record(z.string(), z.unknown()).describe("further fields of each request's body"),
});
export type EndpointQuestion = z.infer<typeof endpointQuestionSchema>;

export interface EndpointRun {
  question: EndpointQuestion;
  table: RecordTable;
  context: LoadContext;
  run: RunSummary;
  tokens: TokenSummary;
}

/** Prompts that differ in length of words only so little, and in their words, make any other work than that alike. */
const pool = 64;
/** Words of the two prompts that tell how the server counts. */
const probes = [20, 220] as const;
/** Tokens of a word where the server does not tell. */
const usualTokensPerWord = 1.2;

/** The place of a base URL. Throws USAGE. */
export function placeOf(url: string): ApiPlace & { secure: boolean } {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol))
    throw new AssayError("USAGE", `${url}: expected a URL such as http://host:8000/v1`);
  const secure = parsed.protocol === "https:";
  return {
    secure,
    host: parsed.hostname.replace(/^\[|\]$/g, ""),
    port: parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port),
    path: parsed.pathname.replace(/\/+$/, ""),
  };
}

function requestsOf(
  question: EndpointQuestion,
  key: string | null,
  words: number,
  count: number,
  maxTokens: number,
): Pick<LoadPlan, "requests" | "uniqueAt"> {
  const stream = randomStream(question.seed, "prompts");
  const { api, model, more, url } = question;
  const made = Array.from({ length: count }, () =>
    encodeCompletion({ place: placeOf(url), api, key, model, prompt: drawPrompt(words, stream), maxTokens, more }),
  );
  return { requests: made.map(({ bytes }) => bytes), uniqueAt: made.map(({ uniqueAt }) => uniqueAt) };
}

/** Words behind the mark that make a prompt of the asked length, by the server's own count of two prompts. Throws ENDPOINT_REFUSES. */
async function fitWords(
  question: EndpointQuestion,
  key: string | null,
  base: Omit<LoadPlan, "requests" | "mode" | "order">,
  signal: AbortSignal,
): Promise<number> {
  const counted: number[] = [];
  for (const words of probes) {
    const { table, context } = await runLoad(
      {
        ...base,
        ...requestsOf(question, key, words, 1, 1),
        mode: { kind: "closed", concurrency: 1, durationMs: null },
        order: "once",
        warmUpMs: 0,
      },
      signal,
    );
    signal.throwIfAborted();
    if (table.length === 0 || table.outcome[0] !== 0) {
      const said = context.peculiarities?.map(([what]) => what).join("; ");
      const { ledger } = summarise(table, context, { latencyLimitMs: null });
      const outcome = Object.entries(ledger).find(([, count]) => count > 0)?.[0] ?? "nothing was sent";
      throw new AssayError("ENDPOINT_REFUSES", `${question.url}: the first request ended as ${outcome}${said ? `: ${said}` : ""}`);
    }
    counted.push(table.tokens?.promptTokens[0] ?? 0);
  }
  const [few, many] = counted as [number, number];
  const perWord = few > 0 && many > few ? (many - few) / (probes[1] - probes[0]) : usualTokensPerWord;
  const fixed = few > 0 ? few - perWord * probes[0] : 0;
  return Math.max(1, Math.round((question.inputTokens - fixed) / perWord));
}

/** Measures. When the signal fires, what was measured so far is returned, and the run says that it was stopped. */
export async function measureEndpoint(
  question: EndpointQuestion,
  { key, recordsPath, signal, onStart }: { key: string | null; recordsPath: string; signal: AbortSignal; onStart?: () => void },
): Promise<EndpointRun> {
  const { load, durationMs, warmUpMs, timeoutMs, connections, seed, url } = question;
  const { host, port, secure } = placeOf(url);
  const base = {
    protocol: "openai",
    host,
    port,
    secure,
    timeoutMs,
    cap: { connections, policy: "queue" },
    seed,
    outputs: null,
    warmUpMs,
  } as const;
  const words = await fitWords(question, key, base, signal);
  onStart?.();
  const { table, context } = await runLoad(
    {
      ...base,
      ...requestsOf(question, key, words, pool, question.outputTokens),
      order: "shuffled",
      mode:
        load.kind === "open"
          ? { kind: "open", arrival: load.arrival, ratePerSecond: load.ratePerSecond, durationMs }
          : { kind: "closed", concurrency: load.concurrency, durationMs },
      recordsPath,
    },
    signal,
  );
  return summariseEndpoint(question, table, context);
}

/** The figures of a run's records. */
export function summariseEndpoint(question: EndpointQuestion, table: RecordTable, context: LoadContext): EndpointRun {
  if (!hasTokens(table)) throw new AssayError("RUN_UNREADABLE", "its records tell of no tokens");
  const latencies = question.targets.filter(({ tag }) => tag === "ttft" || tag === "e2e").map(({ limit }) => limit);
  const run = summarise(table, context, { latencyLimitMs: latencies.length === 0 ? null : Math.min(...latencies) });
  if (question.load.kind === "open" && run.drift > sustainedDrift) {
    run.valid = false;
    run.reasons.push(`latency grew by ${figure(1000 * run.drift)} ms each second: the server does not sustain the rate`);
  }
  return { question, table, context, run, tokens: summariseTokens(table, context, question.targets, run.valid && !run.tainted) };
}

/** The run's figures as one document; the same records give the same one. */
export function endpointDocument({ question, context, run, tokens }: EndpointRun): Json {
  const { latencyMs: _, calmLatencyMs: __, stages: ___, ...figures } = run;
  return JSON.parse(JSON.stringify({ question, run: figures, tokens, context })) as Json;
}

const documentSchema = z.object({ question: endpointQuestionSchema, context: loadContextSchema });

/** The step of a journal that such a run leaves. */
export const endpointKind = "bench";

/** Whether the folder holds a run against an endpoint. Throws RUN_UNREADABLE. */
export const isEndpointRun = (folder: string): boolean => readJournal(folder).entries[0]?.kind === endpointKind;

/** Reads a run again, its files checked, its figures computed from the records. Throws RUN_UNREADABLE, RUN_MISMATCH. */
export function loadEndpointRun(folder: string): { found: EndpointRun; stored: Json } {
  const { entries } = readJournal(folder);
  checkFiles(folder, entries);
  const [entry] = entries as [Entry];
  const parsed = documentSchema.safeParse(entry.body);
  const [file] = entry.files;
  if (!parsed.success || !file) throw new AssayError("RUN_UNREADABLE", `${folder}: its journal does not tell what was measured`);
  const { question, context } = parsed.data;
  return { found: summariseEndpoint(question, readRecords(join(folder, file.path)), context), stored: entry.body };
}
