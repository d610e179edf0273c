/** `assay serve-model`: the embedded model server alone, for an artifact or an ONNX file, until it is stopped. */
import { statSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { readArtifact, readModelHeader } from "../artifact/index.ts";
import { AssayError } from "../base/index.ts";
import { startServer } from "../serving/index.ts";
import { defaultServing, defaultSession } from "../workload/index.ts";

export interface ServeOptions {
  name?: string;
  host: string;
  port: string;
  threads: string;
  replicas: string;
  batch: string;
  delay: string;
  queue: string;
}

function whole(text: string, option: string, least: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least)
    throw new AssayError("USAGE", `--${option} ${text}: expected a whole number, ${least} or more`);
  return value;
}

export async function runServeModel(path: string, options: ServeOptions): Promise<number> {
  const stat = statSync(resolve(path), { throwIfNoEntry: false });
  if (!stat) throw new AssayError("MODEL_UNREADABLE", `${path} is not there`);
  const model = stat.isDirectory() ? (await readArtifact(resolve(path))).modelPath : resolve(path);
  const { inputs, outputs } = await readModelHeader(model);
  const name = options.name ?? (stat.isDirectory() ? "model" : basename(path, extname(path)));
  const server = await startServer({
    model: { name, path: model, inputs, outputs },
    session: defaultSession(whole(options.threads, "threads", 1)),
    serving: {
      ...defaultServing,
      replicas: whole(options.replicas, "replicas", 1),
      batchSize: whole(options.batch, "batch", 1),
      batchDelayMs: whole(options.delay, "delay", 0),
      queueLimit: whole(options.queue, "queue", 1),
    },
    host: options.host,
    port: whole(options.port, "port", 0),
  });
  process.stdout.write(`Serving ${name} at ${server.url}/v2/models/${name} (Ctrl-C ends it)\n`);
  const close = (): void => void server.close();
  process.once("SIGINT", close);
  process.once("SIGTERM", close);
  const { code, signal, lastLines } = await server.exited;
  if (code !== 0) throw new AssayError("SERVER_LOST", `it ended (${signal ?? `exit ${code}`}) ${lastLines}`);
  return 0;
}
