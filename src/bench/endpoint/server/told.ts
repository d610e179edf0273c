/** What a server's metrics tell of one visit: its counters' growth, its mean times, its gauges. Pure. */
import { z } from "zod";
import type { Sample } from "./exposition.ts";
import { counters, gauges, plainTimes, times, type CounterName } from "./families.ts";

export const serverSchema = z
  .object({
    url: z.string(),
    scrapes: z.int().describe("how often it was read, before and after included"),
    counts: z.array(z.object({ what: z.string(), value: z.number() })).describe("growth of its counters, warm-up included"),
    times: z
      .array(z.object({ what: z.string(), meanMs: z.number(), count: z.number() }))
      .describe("its mean times of a request, warm-up included"),
    gauges: z.array(z.object({ what: z.string(), mean: z.number(), most: z.number() })).describe("while the load ran"),
    restarted: z.boolean().describe("whether a counter fell, as when a server starts anew"),
  })
  .describe("what the server's own metrics tell");
export type ServerTold = z.infer<typeof serverSchema>;

const sumOf = (samples: readonly Sample[], name: string): number | null => {
  const own = samples.filter((one) => one.name === name && Number.isFinite(one.value));
  return own.length === 0 ? null : own.reduce((sum, { value }) => sum + value, 0);
};
const firstOf = (samples: readonly Sample[], names: readonly string[]): string | undefined =>
  names.find((name) => samples.some((one) => one.name === name));

/** Without the samples of other models, where the server tells them apart. */
function ownOf(samples: readonly Sample[], model: string): readonly Sample[] {
  const modelOf = ({ labels }: Sample): string | undefined => labels["model"] ?? labels["model_name"];
  if (!samples.some((one) => modelOf(one) === model)) return samples;
  return samples.filter((one) => (modelOf(one) ?? model) === model);
}

/** @param all in order of time: the first before the load, the last behind it */
export function toldBy(url: string, model: string, all: readonly (readonly Sample[])[]): ServerTold {
  const scrapes = all.map((samples) => ownOf(samples, model));
  const [first, last] = [scrapes[0]!, scrapes.at(-1)!];
  let restarted = false;
  const growth = (name: string): number | null => {
    const [before, after] = [sumOf(first, name) ?? 0, sumOf(last, name)];
    if (after === null) return null;
    if (after < before) restarted = true;
    return after - before;
  };
  const counts = counters.flatMap(({ what, names }) => {
    const name = firstOf(last, names);
    const value = name === undefined ? null : growth(name);
    return value === null ? [] : [{ what, value }];
  });
  const timed = [
    ...times.flatMap(({ what, sums, perMs }) => {
      const base = sums.find((name) => last.some((one) => one.name === `${name}_sum`));
      return base === undefined ? [] : [{ what, sum: growth(`${base}_sum`), count: growth(`${base}_count`), perMs }];
    }),
    ...plainTimes.map(({ what, sum, count, perMs }) => ({ what, sum: growth(sum), count: growth(count), perMs })),
  ].flatMap(({ what, sum, count, perMs }) =>
    sum === null || count === null || count <= 0 ? [] : [{ what, meanMs: sum / count / perMs, count }],
  );
  const between = scrapes.length > 2 ? scrapes.slice(1, -1) : scrapes;
  const seen = gauges.flatMap(({ what, names, share }) => {
    const values = between.flatMap((samples) => {
      const name = firstOf(samples, names);
      if (name === undefined) return [];
      const own = samples.filter((one) => one.name === name && Number.isFinite(one.value));
      const sum = own.reduce((total, { value }) => total + value, 0);
      return own.length === 0 ? [] : [share ? sum / own.length : sum];
    });
    return values.length === 0 ? [] : [{ what, mean: values.reduce((a, b) => a + b, 0) / values.length, most: Math.max(...values) }];
  });
  return { url, scrapes: scrapes.length, counts, times: timed, gauges: seen, restarted };
}

export const countOf = ({ counts }: ServerTold, wanted: CounterName): number | null =>
  counts.find(({ what }) => what === wanted)?.value ?? null;

/** Requests beyond what was sent that are taken for chance: health checks that are counted, scrapes between two counts. */
const strangers = 0.01;

/**
 * What of it does not fit what the client saw. Servers miss what they refuse before scheduling, and some count an
 * error inside a stream as an answer: so more answers than good ones, and fewer than requests, are in order.
 * @param sent and good: the client's, warm-up included
 */
export function misfits(told: ServerTold, { sent, good }: { sent: number; good: number }): string[] {
  if (told.restarted) return ["the server started anew meanwhile: its counters fell"];
  const answered = countOf(told, "answered");
  if (answered === null) return [];
  const all = answered + (countOf(told, "failed") ?? 0);
  return [
    ...(answered < good ? [`the server counts ${answered} answers, fewer than the ${good} good ones that came`] : []),
    ...(all > sent * (1 + strangers) + 1
      ? [`the server counts ${all} requests, more than the ${sent} that were sent: others use it too`]
      : []),
  ];
}
