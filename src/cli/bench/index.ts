/** `assay bench`: measures endpoints that run already. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AssayError, parseDurationMs } from "../../base/index.ts";
import { endpointDocument, measureEndpoints, placeOf, readyEndpoints, type Endpoint, type EndpointQuestion } from "../../bench/index.ts";
import { openJournal } from "../../evidence/index.ts";
import { renderEndpoint } from "../../report/index.ts";
import { newFolder, shownPath } from "../run-folder.ts";
import { endpointOf, protocolOf } from "./endpoint.ts";
import { liveLine } from "./live.ts";
import { askedOf } from "./load.ts";
import { keyOf, numberOf, targetOf, type BenchOptions } from "./options.ts";
import { publishEndpoint } from "./run.ts";
import { endpointFailKinds, endpointStatus } from "./status.ts";

export type { BenchOptions } from "./options.ts";

function metricsOf({ metrics, against }: BenchOptions): string | null {
  if (metrics === false) return null;
  if (metrics === undefined) return "own";
  if (against !== undefined) throw new AssayError("USAGE", "--metrics does not go with --against: each endpoint's own are read");
  placeOf(metrics);
  return metrics;
}

function questionOf(endpoints: Endpoint[], asked: Pick<EndpointQuestion, "load" | "design">, options: BenchOptions): EndpointQuestion {
  return {
    endpoints,
    load: asked.load,
    design: asked.design,
    durationMs: parseDurationMs(options.duration),
    warmUpMs: parseDurationMs(options.warmUp),
    timeoutMs: parseDurationMs(options.timeout),
    connections: numberOf(options.connections, "connections", { least: 1, whole: true }),
    targets: (options.target ?? []).map(targetOf),
    metrics: metricsOf(options),
    seed: options.seed ?? randomBytes(8).toString("hex"),
  };
}

/** Measures and prints. Returns the exit status; what was measured before an interruption is shown and kept. */
export async function runBench(protocolText: string, place: string, options: BenchOptions): Promise<number> {
  const protocol = protocolOf(protocolText, options);
  const failOn = endpointFailKinds(options.failOn);
  const { trace, ...asked } = askedOf(options);
  const { model = "", against, againstModel = model } = options;
  const endpoints = [
    endpointOf(protocol, place, model, options),
    ...(against === undefined ? [] : [endpointOf(protocol, against, againstModel, options)]),
  ];
  const question = questionOf(endpoints, asked, options);
  const call = { key: keyOf(options), dataPath: options.data ?? null, environment: process.env };
  const folder = newFolder(options.out, "bench");
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  const live = liveLine(process.stderr);
  try {
    process.stderr.write("Asking the endpoint …\n");
    const ready = await readyEndpoints(question, call, stop.signal);
    mkdirSync(join(folder, "records"), { recursive: true });
    const journal = openJournal(folder);
    try {
      const found = await measureEndpoints(question, ready, journal, { trace, ...live }, stop.signal);
      live.end();
      publishEndpoint(folder, found, options);
      if (options.json) process.stdout.write(`${JSON.stringify(endpointDocument(found), undefined, 2)}\n`);
      else process.stdout.write(renderEndpoint(found, shownPath(folder)));
      return stop.signal.aborted ? 130 : endpointStatus(found, failOn);
    } finally {
      journal.close();
    }
  } catch (fault) {
    if (stop.signal.aborted && !(fault instanceof AssayError)) return 130;
    throw fault;
  } finally {
    live.end();
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}
