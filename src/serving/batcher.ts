/**
 * The queue of a replica: bounded, first come first served, and joining waiting requests of equal
 * shape into one run, up to a size and a delay. What has arrived is read first, then served, so that requests really meet.
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
  /** Blocks for the length of one run. */
  run: (inputs: Tensors) => Tensors;
  /** Most requests joined in one run. */
  batchSize: number;
  batchDelayMs: number;
  queueLimit: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Calls back after what has arrived was read: setImmediate. */
  later: (work: () => void) => void;
}

export interface Batcher {
  /** Calls back with the answer or the fault; false at once when the queue is full. */
  submit(inputs: Tensors, items: number, done: (answer: Answer | null, fault: unknown) => void): boolean;
  /** Requests waiting. */
  waiting: () => number;
}

interface Waiting {
  inputs: Tensors;
  items: number;
  shape: string;
  since: number;
  done: (answer: Answer | null, fault: unknown) => void;
}

/** After this long in runs the loop reads again, so that health checks and refusals go out under a backlog. */
const turnMs = 1;

const innerShape = (inputs: Tensors): string => [...inputs].map(([name, { shape }]) => `${name}:${shape.slice(1).join("x")}`).join(";");

export function createBatcher({ run, batchSize, batchDelayMs, queueLimit, now, later }: BatcherOptions): Batcher {
  const queue: Waiting[] = [];
  let scheduled = false;
  let timer: NodeJS.Timeout | null = null;

  /** The first waiting request and those that can join it, taken out of the queue. */
  const takeGroup = (): Waiting[] => {
    const first = queue.shift()!;
    const group = [first];
    for (let at = 0; at < queue.length && group.length < batchSize;) {
      if (queue[at]!.shape === first.shape) group.push(...queue.splice(at, 1));
      else at++;
    }
    return group;
  };

  const answerAlone = (one: Waiting): void => {
    const started = now();
    let outputs: Tensors;
    try {
      outputs = run(one.inputs);
    } catch (fault) {
      one.done(null, fault);
      return;
    }
    one.done({ outputs, queueMs: started - one.since, computeMs: now() - started, batchItems: one.items }, null);
  };

  const serve = (group: readonly Waiting[]): void => {
    const [first, ...more] = group as [Waiting, ...Waiting[]];
    if (more.length === 0) return answerAlone(first);
    const started = now();
    const batchItems = group.reduce((sum, { items }) => sum + items, 0);
    let outputs: Tensors | null = null;
    try {
      outputs = run(new Map([...first.inputs.keys()].map((name) => [name, concatBatch(group.map(({ inputs }) => inputs.get(name)!))])));
    } catch {
      // One of them is at fault: alone, each gets its own answer.
    }
    // Outputs without one row an item cannot be divided among the requests.
    if (!outputs || [...outputs.values()].some(({ shape }) => shape[0] !== batchItems)) return group.forEach(answerAlone);
    const computeMs = now() - started;
    let from = 0;
    for (const { items, since, done } of group) {
      const own = new Map([...outputs].map(([name, tensor]) => [name, sliceBatch(tensor, from, from + items)]));
      from += items;
      done({ outputs: own, queueMs: started - since, computeMs, batchItems }, null);
    }
  };

  /** Serves all that may go now. What arrives meanwhile is read before the next call. */
  const drain = (): void => {
    scheduled = false;
    const begun = now();
    while (queue.length > 0) {
      if (now() - begun > turnMs) {
        scheduled = true;
        later(drain);
        return;
      }
      const age = now() - queue[0]!.since;
      if (batchDelayMs > age && queue.length < batchSize) {
        timer ??= setTimeout(() => {
          timer = null;
          drain();
        }, batchDelayMs - age);
        return;
      }
      serve(takeGroup());
    }
  };

  return {
    submit(inputs, items, done) {
      if (queue.length >= queueLimit) return false;
      queue.push({ inputs, items, shape: batchSize === 1 ? "" : innerShape(inputs), since: now(), done });
      if (!scheduled) {
        scheduled = true;
        later(drain);
      }
      return true;
    },
    waiting: () => queue.length,
  };
}
