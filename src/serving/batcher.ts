/**
 * The queue of a replica: bounded, first come first served, and joining waiting requests of equal
 * shape into one run, up to a size and a delay. Without batching a request goes straight to the model.
 */
import { concatBatch, sliceBatch, type Tensor } from "../tensor/index.ts";

export type Tensors = ReadonlyMap<string, Tensor>;

export interface Answer {
  outputs: Tensors;
  queueMs: number;
  computeMs: number;
  /** Items of the run that served it. */
  batchItems: number;
}

export interface BatcherOptions {
  run: (inputs: Tensors) => Promise<Tensors>;
  /** Most requests joined in one run. */
  batchSize: number;
  batchDelayMs: number;
  queueLimit: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

export interface Batcher {
  /** Resolves with the answer; null at once when the queue is full. */
  submit(inputs: Tensors, items: number): Promise<Answer> | null;
  /** Requests waiting. */
  waiting: () => number;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

interface Waiting {
  inputs: Tensors;
  items: number;
  shape: string;
  since: number;
  resolve: (answer: Answer) => void;
  reject: (fault: unknown) => void;
}

const innerShape = (inputs: Tensors): string => [...inputs].map(([name, { shape }]) => `${name}:${shape.slice(1).join("x")}`).join(";");

export function createBatcher({ run, batchSize, batchDelayMs, queueLimit, now }: BatcherOptions): Batcher {
  const queue: Waiting[] = [];
  let running = false;
  let timer: NodeJS.Timeout | null = null;
  const idlers: (() => void)[] = [];

  /** The first waiting request and those that can join it, taken out of the queue. */
  const takeGroup = (): Waiting[] => {
    const first = queue[0]!;
    if (batchSize === 1) return queue.splice(0, 1);
    const group: Waiting[] = [];
    for (let at = 0; at < queue.length && group.length < batchSize;) {
      if (queue[at]!.shape === first.shape) group.push(...queue.splice(at, 1));
      else at++;
    }
    return group;
  };

  const serve = async (group: readonly Waiting[]): Promise<void> => {
    const started = now();
    try {
      const names = [...group[0]!.inputs.keys()];
      const joined =
        group.length === 1
          ? group[0]!.inputs
          : new Map(names.map((name) => [name, concatBatch(group.map(({ inputs }) => inputs.get(name)!))]));
      const outputs = await run(joined);
      const computeMs = now() - started;
      const batchItems = group.reduce((sum, { items }) => sum + items, 0);
      let from = 0;
      for (const { items, since, resolve } of group) {
        const own =
          group.length === 1 ? outputs : new Map([...outputs].map(([name, tensor]) => [name, sliceBatch(tensor, from, from + items)]));
        from += items;
        resolve({ outputs: own, queueMs: started - since, computeMs, batchItems });
      }
    } catch (fault) {
      for (const { reject } of group) reject(fault);
    }
  };

  const next = (): void => {
    if (running) return;
    if (queue.length === 0) {
      for (const done of idlers.splice(0)) done();
      return;
    }
    const age = now() - queue[0]!.since;
    if (batchSize > 1 && batchDelayMs > age && queue.length < batchSize) {
      timer ??= setTimeout(() => {
        timer = null;
        next();
      }, batchDelayMs - age);
      return;
    }
    running = true;
    void serve(takeGroup()).then(() => {
      running = false;
      next();
    });
  };

  return {
    submit(inputs, items) {
      if (queue.length >= queueLimit) return null;
      return new Promise<Answer>((resolve, reject) => {
        queue.push({ inputs, items, shape: batchSize === 1 ? "" : innerShape(inputs), since: now(), resolve, reject });
        next();
      });
    },
    waiting: () => queue.length,
    idle: () =>
      new Promise((resolve) => {
        if (!running && queue.length === 0) resolve();
        else idlers.push(resolve);
      }),
  };
}
