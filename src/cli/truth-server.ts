/** `assay truth-server`: a server whose every time is scripted, to check load generators against. */
import { readFileSync, writeFileSync } from "node:fs";
import { AssayError, figure } from "../base/index.ts";
import { percentile } from "../stats/index.ts";
import { parseTruthScript, startTruthServer } from "../truth/index.ts";

export interface TruthServerOptions {
  host: string;
  port: string;
  log?: string;
}

/** Runs until it is stopped; then says how late its own writes were. */
export async function runTruthServer(path: string, { host, port, log }: TruthServerOptions): Promise<number> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new AssayError("TRUTH_SCRIPT_INVALID", `${path} cannot be read`, { cause });
  }
  const wanted = Number(port);
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535) throw new AssayError("USAGE", `--port ${port}: expected 0 to 65535`);
  const server = await startTruthServer(parseTruthScript(text), { host, port: wanted });
  process.stdout.write(`Answering by ${path} at ${server.url} (Ctrl-C ends it)\n`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
  const records = server.records();
  await server.close();
  const late = Float64Array.from(records, ({ askedMs, doneMs }) => doneMs - askedMs).sort();
  const at = (p: number): string => figure(percentile(late, p) ?? 0);
  process.stdout.write(
    `${server.requests()} requests, ${records.length} writes; late by p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms\n`,
  );
  if (log !== undefined) writeFileSync(log, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  return 0;
}
