/** `assay bench openai`: one run against an endpoint that streams tokens. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AssayError, parseDurationMs } from "../base/index.ts";
import { endpointDocument, endpointKind, measureEndpoint, placeOf, type EndpointQuestion, type EndpointRun } from "../bench/index.ts";
import { openJournal } from "../evidence/index.ts";
import { tokenMetrics, tokenTags } from "../load/index.ts";
import { renderEndpoint } from "../report/index.ts";
import { newFolder, shownPath } from "./run-folder.ts";

export interface BenchOptions {
  model: string;
  api: string;
  rate?: string;
  concurrency?: string;
  arrival: string;
  duration: string;
  warmUp: string;
  timeout: string;
  connections: string;
  input: string;
  output: string;
  target?: string[];
  seed?: string;
  body?: string;
  keyEnv?: string;
  keyFile?: string;
  out?: string;
  json?: boolean;
}

function number(text: string, option: string, { least, whole }: { least: number; whole: boolean }): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < least || (whole && !Number.isInteger(value)))
    throw new AssayError("USAGE", `--${option} ${text}: expected a ${whole ? "whole " : ""}number, ${least} or more`);
  return value;
}

function loadOf({ rate, concurrency, arrival }: BenchOptions): EndpointQuestion["load"] {
  if ((rate === undefined) === (concurrency === undefined)) throw new AssayError("USAGE", "give either --rate or --concurrency");
  if (concurrency !== undefined) return { kind: "closed", concurrency: number(concurrency, "concurrency", { least: 1, whole: true }) };
  const ratePerSecond = number(rate!, "rate", { least: 0.001, whole: false });
  if (arrival === "constant" || arrival === "poisson") return { kind: "open", ratePerSecond, arrival: { kind: arrival } };
  const cv = /^gamma:(.+)$/.exec(arrival)?.[1];
  if (cv === undefined) throw new AssayError("USAGE", `--arrival ${arrival}: expected constant, poisson or gamma:<variation>`);
  return { kind: "open", ratePerSecond, arrival: { kind: "gamma", cv: number(cv, "arrival gamma:", { least: 0.01, whole: false }) } };
}

/** A target such as ttft.p99=500ms. */
function targetOf(text: string): EndpointQuestion["targets"][number] {
  const match = /^([a-z0-9-]+)\.p(\d+(?:\.\d+)?)=(.+)$/.exec(text);
  const metric = tokenMetrics.find(({ tag }) => tag === match?.[1]);
  const p = Number(match?.[2]) / 100;
  if (!match || !metric || !(p > 0 && p < 1))
    throw new AssayError(
      "USAGE",
      `--target ${text}: expected <metric>.p<percentile>=<limit>, such as ttft.p99=500ms; metrics are ${tokenTags.join(", ")}`,
    );
  const limit = metric.unit === "ms" ? parseDurationMs(match[3]!) : number(match[3]!, "target", { least: 0, whole: false });
  return { tag: metric.tag as (typeof tokenTags)[number], p, limit };
}

function keyOf({ keyEnv, keyFile }: BenchOptions): string | null {
  if (keyEnv !== undefined && keyFile !== undefined) throw new AssayError("USAGE", "give --key-env or --key-file, not both");
  if (keyEnv !== undefined) {
    const key = process.env[keyEnv];
    if (!key) throw new AssayError("USAGE", `--key-env ${keyEnv}: the variable is not set`);
    return key;
  }
  if (keyFile === undefined) return null;
  try {
    return readFileSync(keyFile, "utf8").trim();
  } catch (cause) {
    throw new AssayError("USAGE", `--key-file ${keyFile}: it cannot be read`, { cause });
  }
}

function bodyOf(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new AssayError("USAGE", `--body ${text}: expected a JSON object`);
}

function questionOf(url: string, options: BenchOptions): EndpointQuestion {
  placeOf(url);
  if (options.api !== "chat" && options.api !== "completions")
    throw new AssayError("USAGE", `--api ${options.api}: expected chat or completions`);
  return {
    url,
    api: options.api,
    model: options.model,
    load: loadOf(options),
    durationMs: parseDurationMs(options.duration),
    warmUpMs: parseDurationMs(options.warmUp),
    timeoutMs: parseDurationMs(options.timeout),
    connections: number(options.connections, "connections", { least: 1, whole: true }),
    inputTokens: number(options.input, "input", { least: 1, whole: true }),
    outputTokens: number(options.output, "output", { least: 1, whole: true }),
    targets: (options.target ?? []).map(targetOf),
    seed: options.seed ?? randomBytes(8).toString("hex"),
    more: bodyOf(options.body),
  };
}

/** Exit status: 0 every target is met or none is set · 3 one is missed · 4 cannot tell, or the run is invalid. */
export function endpointStatus({ tokens, run }: EndpointRun): number {
  const results = tokens.targets.map(({ result }) => result);
  if (results.includes("fail")) return 3;
  return !run.valid || results.includes("cannot-tell") ? 4 : 0;
}

/** Measures and prints. Returns the exit status; what was measured before an interruption is shown and kept. */
export async function runBench(protocol: string, url: string, options: BenchOptions): Promise<number> {
  if (protocol !== "openai") throw new AssayError("USAGE", `${protocol}: known protocols are openai`);
  const question = questionOf(url, options);
  const key = keyOf(options);
  const folder = newFolder(options.out, "bench");
  mkdirSync(join(folder, "records"), { recursive: true });
  const journal = openJournal(folder);
  const records = "records/000-load.arrow.gz";
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    process.stderr.write("Asking the server how it counts tokens …\n");
    const found = await measureEndpoint(question, {
      key,
      recordsPath: join(folder, records),
      signal: stop.signal,
      onStart: () => process.stderr.write(`Measuring for ${Math.round((question.durationMs + question.warmUpMs) / 1000)} s …\n`),
    });
    const document = endpointDocument(found);
    journal.append(endpointKind, document, [records]);
    if (options.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
    else process.stdout.write(renderEndpoint(found, shownPath(folder)));
    return stop.signal.aborted ? 130 : endpointStatus(found);
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
    journal.close();
  }
}
