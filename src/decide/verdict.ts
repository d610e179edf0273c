/**
 * The verdict document: what the evidence says about every candidate, and the answer. It is all that
 * the report and the terminal read, and what `--json` prints. The same records and version give the
 * same bytes: no clock, no path, numbers to nine significant digits.
 */
import { z } from "zod";

const ratio = z.number().describe("a ratio, 0–1");
const ms = z.number().describe("milliseconds");

/** A figure with its 95 % interval. */
const estimate = (what: string) =>
  z
    .object({
      value: z.number().describe(what),
      low: z.number().nullable().describe("lower end of the 95 % interval; null = not bounded by this run"),
      high: z.number().nullable().describe("upper end of the 95 % interval; null = not bounded by this run"),
    })
    .describe(`${what}, with its 95 % interval`);

export const gateSchema = z
  .object({
    result: z
      .enum(["pass", "fail", "cannot-tell", "not-asked"])
      .describe("what the gate says; anything but pass keeps a candidate from winning, not-asked excepted"),
    reasons: z.array(z.string()).describe("one sentence each: figure, target, by how much"),
  })
  .meta({ id: "Gate" });
export type Gate = z.infer<typeof gateSchema>;

export const percentileSchema = z
  .object({
    percentile: z.number().describe("percent, such as 99"),
    ms: ms.describe("type-1 percentile over all scheduled requests of the pooled valid runs, milliseconds; a timeout counts as its limit"),
    low: ms.nullable().describe("lower end of the 95 % interval, milliseconds; null = too few requests"),
    high: ms.nullable().describe("upper end of the 95 % interval, milliseconds; null = too few requests"),
    certifiedMs: ms.nullable().describe("upper bound at 99 % confidence, milliseconds; null below the sample floor"),
    withoutStallsMs: ms.nullable().describe("the same percentile without the requests that a host stall touched, milliseconds"),
    targetMs: ms.nullable().describe("the target on this percentile, milliseconds; null = none stated"),
  })
  .meta({ id: "Percentile" });

export const ledgerSchema = z
  .record(z.string(), z.number().int())
  .describe("requests by outcome class; the classes sum to the scheduled")
  .meta({ id: "Ledger" });

export const stageSchema = z
  .object({
    stage: z
      .enum(["client", "network", "queue", "compute"])
      .describe(
        "client = schedule to send; network = everything between that neither side's clock explains; queue, compute = the server's own clock",
      ),
    meanMs: estimate("mean time, milliseconds"),
    shareOfMean: ratio.describe("share of the mean request, 0–1"),
    shareAboveP95: ratio.nullable().describe("share among the slowest 5 % of the requests, 0–1"),
  })
  .meta({ id: "Stage" });

const worstSchema = z.object({
  value: z.number().nullable().describe("the figure in the worst item; null = without bound"),
  item: z.number().int().describe("that item"),
});

export const closenessSchema = z
  .object({
    reference: z.string().describe("the same model unchanged, whose answers these are held against"),
    items: z.number().int().describe("items compared"),
    cosine: worstSchema.nullable().describe("cosine of the two answers to one item, −1 to 1"),
    relativeL2: worstSchema.nullable().describe("length of their difference over the reference's length"),
    maxAbs: worstSchema.nullable().describe("largest difference of one number, in the output's own unit"),
    p999Abs: z.number().nullable().describe("99.9th percentile of the differences of single numbers; null = without bound"),
  })
  .meta({ id: "Closeness" });
export type ClosenessVerdict = z.infer<typeof closenessSchema>;

export const candidateVerdictSchema = z
  .object({
    id: z.string().describe("SHA-256 of the candidate"),
    name: z.string().describe("the fields that differ from the baseline"),
    role: z.enum(["baseline", "source-model", "challenger"]).describe("baseline = candidate 0; source-model = another model unchanged"),
    model: z.string().describe("the workload's name of the model"),
    route: z.string().describe("how the artifact was made"),
    settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).describe("every runtime and serving setting"),
    changes: z.number().int().describe("number of fields that differ from the baseline: fewer is simpler"),
    artifact: z
      .object({
        digest: z.string().describe("SHA-256 of the artifact's content"),
        bytes: z.number().int().describe("its size, bytes"),
        buildMs: ms.nullable().describe("how long the build took, milliseconds; null = from the cache"),
      })
      .nullable(),
    performance: gateSchema,
    accuracyGate: gateSchema,
    latency: z
      .object({
        ratePerSecond: z.number().describe("offered rate, requests per second"),
        runs: z.number().int().describe("valid runs pooled"),
        requests: z.number().int().describe("scheduled requests pooled"),
        percentiles: z.array(percentileSchema),
        curve: z.array(z.tuple([z.number(), z.number()])).describe("[percent, milliseconds] for drawing, ascending"),
        success: estimate("successes ÷ scheduled, 0–1").extend({
          target: ratio.nullable().describe("the target, 0–1; null = none stated"),
        }),
        ledger: ledgerSchema,
        stages: z.array(stageSchema).describe("where the time of a request goes"),
      })
      .nullable()
      .describe("at the stated rate (or at half the capacity where none is stated)"),
    capacity: z
      .object({
        lowPerSecond: z.number().describe("highest rate at which every target held in every run, requests per second"),
        highPerSecond: z.number().nullable().describe("lowest rate at which one certainly failed; null = not found"),
        limit: z.enum(["target", "generator", "host-stalls", "budget", "search-end"]).describe("what bounds the upper end"),
        limitedBy: z.string().nullable().describe("the target that fails first, in words"),
        monotone: z.boolean().describe("whether no higher rate passed above one that failed"),
        steps: z
          .array(z.object({ ratePerSecond: z.number(), outcome: z.enum(["pass", "fail", "cannot-tell", "invalid"]) }))
          .describe("every rate tried, in order"),
      })
      .nullable(),
    cpuMsPerRequest: estimate("CPU time of the server's processes per request, milliseconds").nullable(),
    peakMemoryBytes: z.number().nullable().describe("largest resident memory of the server's processes together, bytes"),
    cost: z
      .object({
        replicas: z.number().int().describe("replicas needed at the peak"),
        perMillionGoodUsd: estimate("US dollars per million good requests"),
        basis: z.string().describe("how it was computed, in words"),
      })
      .nullable()
      .describe("null = unknown: no price stated, or no capacity measured"),
    costUnknown: z.string().nullable().describe("why there is no cost"),
    accuracy: z
      .object({
        metric: z.string(),
        betterIs: z.enum(["higher", "lower"]),
        value: estimate("the metric on the holdout"),
        difference: estimate("candidate − baseline, in the metric's own unit").nullable().describe("null for the baseline"),
        margin: z.number().nullable().describe("largest drop allowed; null = none stated"),
        minimum: z.number().nullable().describe("lowest value allowed; null = none stated"),
        items: z.number().int().describe("holdout items scored"),
        agreement: ratio.nullable().describe("share of items with the same prediction as the baseline"),
        closeness: closenessSchema.nullable().describe("null = the reference itself, or no numbers to compare"),
        batches: z.array(z.tuple([z.number().int(), z.number().int()])).describe("[batch size, requests that ran in one of that size]"),
      })
      .nullable(),
    against: z
      .object({
        latency: estimate("ratio of the median latency to the baseline's").nullable(),
        cpu: estimate("ratio of CPU time per request to the baseline's").nullable(),
        capacity: estimate("ratio of capacity to the baseline's").nullable(),
        cost: estimate("ratio of cost per good request to the baseline's").nullable(),
        pairs: z.number().int().describe("paired blocks behind the ratios"),
        differs: z
          .object({ latency: z.boolean(), cpu: z.boolean() })
          .describe("whether the ratio is told from 1 when all candidates are asked at once (Holm, 5 %)"),
      })
      .nullable()
      .describe("null for the baseline"),
    confirmed: z.enum(["yes", "no", "not-needed"]).describe("whether a fresh rebuild under fresh seeds repeated the result"),
    notes: z.array(z.string()).describe("what a reader must know, such as wall and CPU time disagreeing"),
  })
  .meta({ id: "CandidateVerdict" });
export type CandidateVerdict = z.infer<typeof candidateVerdictSchema>;

export const runSchema = z
  .object({
    candidate: z.string().describe("the candidate's id"),
    name: z.string(),
    purpose: z.enum(["rate", "capacity", "accuracy", "confirm"]),
    block: z.number().int().describe("runs of one block were measured side by side"),
    ratePerSecond: z.number().nullable().describe("offered rate; null = closed loop"),
    seed: z.string().describe("root of the run's random streams"),
    scheduled: z.number().int(),
    valid: z.boolean(),
    reasons: z.array(z.string()).describe("why the run is invalid"),
    tainted: z.boolean().describe("host stalls touched it: it may certify that a target is met, nothing else"),
    lagP99Ms: ms.describe("how late the generator sent, 99th percentile, milliseconds"),
    stalls: z.number().int().describe("host stalls seen"),
    stolenRatio: ratio.nullable().describe("CPU time taken by the host, 0–1; null = not told"),
    cpuSecondsPerSecond: z.number().nullable().describe("CPU use of the server's processes, cores"),
    p50Ms: ms.nullable(),
    p99Ms: ms.nullable(),
    ledger: ledgerSchema,
  })
  .meta({ id: "Run" });

export const verdictSchema = z
  .object({
    apiVersion: z.literal("assay/verdict/v1"),
    decidedBy: z.string().describe("the version of Assay that decided"),
    workload: z.object({
      name: z.string(),
      digest: z.string().describe("SHA-256 of the workload's canonical form"),
      class: z.string(),
      ratePerSecond: z.number().nullable().describe("stated peak; null = find the capacity"),
      targets: z.array(z.string()).describe("every target in words"),
    }),
    answer: z.object({
      kind: z.enum(["winner", "keep", "no-difference", "none-meets", "cannot-tell"]),
      candidate: z.string().nullable().describe("id of the proposed candidate"),
      name: z.string().nullable().describe("its name"),
      sentence: z.string().describe("the answer in one sentence"),
      next: z.string().describe("what to do now"),
      reasons: z.array(z.string()).describe("why, one sentence each; for none-meets the nearest candidate first"),
      moreRuns: z.number().int().nullable().describe("about how many more paired runs would decide; null = not a matter of runs"),
    }),
    smallestDifference: z.object({
      ratio: z.number().nullable().describe("smallest relative difference this run could have seen, such as 0.12; null = no paired runs"),
      sentence: z.string(),
    }),
    payBack: z
      .object({
        tuningUsd: z.number().describe("machine time of this run at hardware.hourlyUsd, US dollars"),
        savedPerMillionUsd: z
          .number()
          .nullable()
          .describe("lower bound of what a million good requests become cheaper by, US dollars; null = not bounded by this run"),
        requests: z.number().nullable().describe("good requests that bring the cost back; null = nothing is saved for certain"),
        day: z.number().int().nullable().describe("the day on which it has come back; null = not within volume.lifetimeDays"),
        sentence: z.string(),
      })
      .nullable()
      .describe("when the cost of this run comes back; null = no winner, no price or no volume"),
    baseline: z.string().describe("id of candidate 0"),
    candidates: z.array(candidateVerdictSchema).describe("the finalists, baseline first, then by cost and simplicity"),
    funnel: z.object({
      enumerated: z.number().int().describe("combinations in the declared space"),
      removed: z.array(
        z.object({
          stage: z.enum(["residency", "licence", "compatibility", "fit", "estimate", "asked", "build", "screen", "measure"]),
          name: z.string(),
          reason: z.string(),
        }),
      ),
      screened: z.number().int().describe("candidates measured in process"),
      finalists: z.number().int().describe("candidates measured end to end"),
    }),
    screening: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          visits: z.number().int(),
          wallMsPerItem: ms.nullable().describe("median over visits, in process, milliseconds per item; null = it failed"),
          againstBaseline: estimate("ratio to the baseline measured beside it").nullable(),
          fate: z.string().describe("finalist, or why it stopped here"),
        }),
      )
      .describe("in-process measurements, fastest first"),
    builds: z.array(
      z.object({
        model: z.string(),
        route: z.string(),
        outcome: z.enum(["built", "cached", "failed", "skipped"]),
        detail: z.string().describe("failure class and message, or empty"),
        startMs: ms.describe("start since the run began, milliseconds"),
        lengthMs: ms.describe("duration, milliseconds"),
        phases: z.array(z.object({ name: z.string(), startMs: ms, lengthMs: ms })),
        bytes: z.number().int().nullable(),
        digest: z.string().nullable(),
      }),
    ),
    runs: z.array(runSchema).describe("every end-to-end run, in order"),
    profiles: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          runUs: z.number().describe("one run in process, microseconds, the profiler's own cost included"),
          operators: z.array(
            z.object({
              op: z.string().describe("operator, as the runtime optimised the graph"),
              nodes: z.number().int(),
              us: z.number().describe("its time in one run, microseconds, mean"),
            }),
          ),
        }),
      )
      .describe("where the time goes inside the model: the baseline, and who is proposed instead of it"),
    statedNotUsed: z
      .array(z.object({ path: z.string(), why: z.string() }))
      .describe("fields of the workload that this version does not act on"),
    openConditions: z.array(z.string()).describe("what the verdict takes for granted"),
    gatesNotAsked: z.array(z.string()).describe("gates nobody asked for"),
    repeat: z.object({
      command: z.string(),
      rootSeed: z.string(),
      machine: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      versions: z.record(z.string(), z.string()),
      digests: z.record(z.string(), z.string()).describe("models, data, workload"),
      spentSeconds: z.number().describe("measuring time, seconds"),
      budgetSeconds: z.number(),
    }),
  })
  .meta({ id: "Verdict" });
export type Verdict = z.infer<typeof verdictSchema>;
