/** The finalists' servers, all kept running, so that a visit costs its window and blocks interleave; idle ones use nothing. */
import { AssayError } from "../base/index.ts";
import type { Artifact, ModelHeader } from "../artifact/index.ts";
import type { Dataset } from "../data/index.ts";
import { usageOf } from "../host/index.ts";
import { decodeInfer, encodeInfer, runLoad, type Arrival, type LoadPlan, type LoadRun } from "../load/index.ts";
import { startServer, type ModelServer } from "../serving/index.ts";
import type { Candidate } from "../workload/index.ts";
import { stackAnswers, type Answers } from "./answers.ts";
import type { Scores } from "./evidence.ts";

export interface Contender {
  candidate: Candidate;
  header: ModelHeader;
  artifact: Artifact;
}

export interface FleetOptions {
  dataset: Dataset;
  arrival: Arrival;
  itemsPerRequest: number;
  /** Cores that one server may use. */
  cores: number;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface Visit {
  run: LoadRun;
  cpuSeconds: number | null;
  wallSeconds: number;
  peakBytes: number | null;
}

export interface Fleet {
  /** Offers a rate to a contender. */
  visit(
    contender: Contender,
    visit: { ratePerSecond: number; windowMs: number; warmUpMs: number; seed: string; recordsPath: string },
  ): Promise<Visit>;
  /** Saturates a contender with a closed loop; requests per second. */
  saturate(contender: Contender, windowMs: number, seed: string): Promise<number>;
  /** The holdout, each item once, several in flight; `mix` moves the composition of the batches. */
  holdout(
    contender: Contender,
    mix: number,
  ): Promise<{ scores: Scores; faults: { item: number; reason: string }[]; batches: [number, number][]; answers: Answers | null }>;
  close(): Promise<void>;
}

/** Requests in the pool that visits draw from. */
const poolSize = 512;
const connections = 256;

export function openFleet({ dataset, arrival, itemsPerRequest, cores, timeoutMs, signal }: FleetOptions): Fleet {
  const running = new Map<string, Promise<ModelServer>>();
  const key = ({ candidate, artifact }: Contender): string => `${candidate.id}:${artifact.digest}`;
  const served = ({ candidate, header, artifact }: Contender): Promise<ModelServer> => {
    const outputs = header.outputs.filter(({ name }) => dataset.outputsOf(candidate.model).includes(name));
    const model = { name: candidate.model, path: artifact.modelPath, inputs: header.inputs, outputs };
    return startServer({ model, session: candidate.session, serving: candidate.serving, cores }, signal);
  };
  const serverOf = async (contender: Contender): Promise<ModelServer> => {
    let server = running.get(key(contender));
    if (!server) {
      server = served(contender);
      running.set(key(contender), server);
      server.catch(() => running.delete(key(contender)));
    }
    return server;
  };
  const pools = new Map<string, Uint8Array[]>();
  const encode = ({ host, port }: ModelServer, { candidate }: Contender, items: readonly number[]): Uint8Array => {
    const inputs = [...dataset.stack(candidate.model, items)].map(([name, tensor]) => ({ name, tensor }));
    return encodeInfer({ host, port, model: candidate.model, inputs, outputs: dataset.outputsOf(candidate.model), binary: true });
  };
  const poolOf = (server: ModelServer, contender: Contender): Uint8Array[] => {
    const at = `${contender.candidate.model}:${server.port}`;
    let pool = pools.get(at);
    if (!pool) {
      const items = dataset.splits.holdout;
      const count = Math.min(poolSize, Math.max(1, Math.floor(items.length / itemsPerRequest)));
      pool = Array.from({ length: count }, (_, k) =>
        encode(server, contender, items.slice(k * itemsPerRequest, (k + 1) * itemsPerRequest)),
      );
      pools.set(at, pool);
    }
    return pool;
  };
  /** Runs a plan and watches the server: one that ends in between makes the measurement void. */
  const load = async (server: ModelServer, plan: LoadPlan): Promise<LoadRun> => {
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    let lost: string | null = null;
    void server.exited.then(({ code, signal: by, lastLines }) => {
      lost = `the model server ended (${by ?? `exit ${code}`}) ${lastLines.slice(-300)}`.trim();
      stop.abort();
    });
    const run = await runLoad(plan, both);
    signal.throwIfAborted();
    if (lost !== null) throw new AssayError("SERVER_LOST", lost);
    return run;
  };
  const planOf = (server: ModelServer, contender: Contender): Omit<LoadPlan, "order" | "mode" | "seed" | "requests" | "warmUpMs"> => ({
    host: server.host,
    port: server.port,
    timeoutMs,
    cap: { connections, policy: "queue" },
    speech: { protocol: "oip", outputs: dataset.outputsOf(contender.candidate.model) },
  });

  return {
    async visit(contender, { ratePerSecond, windowMs, warmUpMs, seed, recordsPath }) {
      const server = await serverOf(contender);
      const before = usageOf(server.pids());
      const began = performance.now();
      const run = await load(server, {
        ...planOf(server, contender),
        requests: poolOf(server, contender),
        order: "shuffled",
        mode: { kind: "open", arrival, ratePerSecond, durationMs: windowMs },
        warmUpMs,
        seed,
        recordsPath,
      });
      const after = usageOf(server.pids());
      // The CPU time covers the warm-up too: it is set against the whole time.
      return {
        run,
        cpuSeconds: before && after ? after.cpuSeconds - before.cpuSeconds : null,
        wallSeconds: (performance.now() - began) / 1000,
        peakBytes: after?.peakBytes ?? null,
      };
    },
    async saturate(contender, windowMs, seed) {
      const server = await serverOf(contender);
      const mode = { kind: "closed", concurrency: 16, durationMs: windowMs } as const;
      const { table } = await load(server, {
        ...planOf(server, contender),
        requests: poolOf(server, contender),
        order: "shuffled",
        mode,
        warmUpMs: windowMs / 3,
        seed,
      });
      return Math.max(1, table.length / (windowMs / 1000));
    },
    async holdout(contender, mix) {
      const server = await serverOf(contender);
      const items = dataset.splits.holdout;
      const concurrency = Math.max(3, 2 * contender.candidate.serving.batchSize) + mix;
      const { bodies, table } = await load(server, {
        ...planOf(server, contender),
        requests: items.map((item) => encode(server, contender, [item])),
        order: "once",
        mode: { kind: "closed", concurrency, durationMs: null },
        warmUpMs: 0,
        seed: "holdout",
        keepBodies: true,
      });
      const bodyOf = new Map(bodies.map((body) => [body.item, body]));
      const [scored] = dataset.outputsOf(contender.candidate.model);
      const faults: { item: number; reason: string }[] = [];
      const scores: Scores = { items: [...items], values: [], predictions: [] };
      const lost = new Map<number, string>();
      const answers = items.map((_, at) => {
        const answer = bodyOf.get(at);
        try {
          if (!answer) throw new Error("no answer came");
          if (answer.status !== 200) throw new Error(`HTTP ${answer.status}: ${Buffer.from(answer.body).toString("utf8").slice(0, 200)}`);
          return decodeInfer(answer.headerBytes, answer.body);
        } catch (fault) {
          lost.set(at, (fault as Error).message);
          return undefined;
        }
      });
      for (const [at, { value, prediction, fault }] of dataset.score(contender.candidate.model, items, answers).entries()) {
        const reason = lost.get(at) ?? fault;
        if (reason !== undefined) faults.push({ item: items[at]!, reason });
        scores.values.push(value);
        scores.predictions.push(prediction);
      }
      const batches = new Map<number, number>();
      for (const { batch } of bodies) batches.set(batch, (batches.get(batch) ?? 0) + 1);
      if (table.length !== items.length) throw new AssayError("LOAD_FAILED", `${table.length} of ${items.length} holdout items were sent`);
      return {
        scores,
        faults,
        batches: [...batches].sort((a, b) => a[0] - b[0]),
        answers: stackAnswers(answers.map((found) => found?.get(scored!))),
      };
    },
    async close() {
      const servers = await Promise.allSettled(running.values());
      running.clear();
      await Promise.all(servers.flatMap((server) => (server.status === "fulfilled" ? [server.value.close()] : [])));
    },
  };
}
