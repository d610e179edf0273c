/**
 * The server process. With one replica it serves itself; with more it is the primary of a cluster
 * whose workers are the replicas, each with its own session and the whole path of a request.
 */
import cluster, { type Worker } from "node:cluster";
import { AggregatorRegistry, type MetricObject } from "prom-client";
import { openOnnxSession } from "../artifact/index.ts";
import { dieWithParent } from "../host/index.ts";
import { createBatcher } from "./batcher.ts";
import { createHttpServer } from "./http.ts";
import { createMetrics } from "./metrics.ts";
import { routes } from "./routes.ts";
import type { FromServer, StartMessage, ToReplica, ToServer } from "./server.ts";

const tell = (message: FromServer): void => void process.send?.(message);
const startVariable = "ASSAY_REPLICA_START";
const words = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

async function serve({ model, session, serving, host, port }: StartMessage["start"], gather: () => Promise<string> | null): Promise<void> {
  const loaded = await openOnnxSession(
    model.path,
    session,
    model.outputs.map(({ name }) => name),
  );
  const batcher = createBatcher({ run: loaded.runNow, ...serving, now: () => performance.now(), later: setImmediate });
  const metrics = createMetrics(model.name, batcher.waiting);
  let ready = true;
  const face = routes({ model, batcher, metrics, ready: () => ready, metricsText: () => gather() ?? metrics.registry.metrics() });
  const server = createHttpServer({ ...face, mostBodyBytes: 64 * 2 ** 20, idleMs: 120_000, arrivalMs: 60_000 });
  const drain = async (): Promise<void> => {
    if (!ready) return;
    ready = false;
    await Promise.race([server.drain(), new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
    process.exit(0);
  };
  process.on("SIGTERM", () => void drain());
  process.on("message", (message: ToServer | ToReplica) => {
    if ("drain" in message) void drain();
    if ("giveMetrics" in message) {
      void metrics.registry.getMetricsAsJSON().then((json) => process.send?.({ metrics: json, round: message.giveMetrics }));
    }
  });
  server.listener.on("error", (fault) => {
    tell({ failed: `it cannot listen on ${host}:${port}: ${fault.message}` });
    process.exit(1);
  });
  server.listener.listen(port, host, () => {
    const address = server.listener.address();
    tell({ ready: { port: typeof address === "object" && address ? address.port : port, pids: [process.pid] } });
  });
}

/** In a worker: asks the primary for the sum over all replicas. */
function askPrimary(): Promise<string> {
  return new Promise((resolve) => {
    const hear = (message: ToReplica): void => {
      if (!("metricsText" in message)) return;
      process.off("message", hear);
      resolve(message.metricsText);
    };
    process.on("message", hear);
    process.send?.({ askMetrics: true });
  });
}

type FromReplica = FromServer | { askMetrics: true } | { metrics: MetricObject[]; round: number };

function lead(start: StartMessage["start"]): void {
  const ports = new Map<number, number>();
  const rounds = new Map<number, { asker: number; found: MetricObject[][] }>();
  let ending = false;
  let round = 0;
  const workers = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const send = (message: ToReplica): void => workers().forEach((worker) => worker.send(message));
  const hear = (id: number, message: FromReplica): void => {
    if ("failed" in message) {
      tell(message);
      process.exit(1);
    } else if ("ready" in message) {
      ports.set(id, message.ready.port);
      if (ports.size === start.serving.replicas) {
        tell({ ready: { port: message.ready.port, pids: [process.pid, ...workers().map((worker) => worker.process.pid!)] } });
      }
    } else if ("askMetrics" in message) {
      rounds.set(++round, { asker: id, found: [] });
      send({ giveMetrics: round });
    } else {
      const open = rounds.get(message.round);
      open?.found.push(message.metrics);
      if (!open || open.found.length < workers().length) return;
      rounds.delete(message.round);
      void AggregatorRegistry.aggregate(open.found as never)
        .metrics()
        .then((text) => cluster.workers?.[open.asker]?.send({ metricsText: text } satisfies ToReplica));
    }
  };
  for (let i = 0; i < start.serving.replicas; i++) {
    // By the environment: a message could come before the worker listens.
    const worker = cluster.fork({ [startVariable]: JSON.stringify(start) });
    worker.on("message", (message: FromReplica) => hear(worker.id, message));
  }
  cluster.on("exit", (worker, code, signal) => {
    if (!ending) {
      console.error(`replica ${worker.id} ended: ${signal ?? `exit ${code}`}`);
      process.exit(1);
    }
    if (workers().length === 0) process.exit(0);
  });
  const drain = (): void => {
    ending = true;
    send({ drain: true });
  };
  process.on("SIGTERM", drain);
  process.on("message", (message: ToServer) => "drain" in message && drain());
}

dieWithParent();
// A parent that was gone before the watch began closes the channel.
process.on("disconnect", () => process.exit(1));
process.on("SIGINT", () => {}); // The parent decides; a terminal's Ctrl-C reaches the whole group.
const begin = (start: StartMessage["start"], gather: () => Promise<string> | null): void => {
  serve(start, gather).catch((fault: unknown) => {
    tell({ failed: words(fault) });
    process.exit(1);
  });
};
if (cluster.isPrimary) {
  process.once("message", ({ start }: StartMessage) => (start.serving.replicas > 1 ? lead(start) : begin(start, () => null)));
} else {
  begin(JSON.parse(process.env[startVariable]!) as StartMessage["start"], askPrimary);
}
