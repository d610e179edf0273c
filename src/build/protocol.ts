/**
 * What a build worker and its supervisor say to each other: JSON lines, commands on stdin, events on
 * file descriptor 3. stdout and stderr stay the vendor's log.
 */
import { z } from "zod";

export const eventDescriptor = 3;
export const mostLineBytes = 65_536;
/** A worker's thread beats this often. */
export const beatMs = 2000;

/** Why a job failed. Only `retryable` ones may be tried again as they are. */
export const failureClasses = {
  oom: { retryable: false },
  stalled: { retryable: true },
  timeout: { retryable: false },
  unsupported_op: { retryable: false },
  bad_profile: { retryable: false },
  stale_cache: { retryable: true },
  artifact_invalid: { retryable: true },
  worker_crash: { retryable: true },
} as const;
export type FailureClass = keyof typeof failureClasses;
const failureClass = z.enum(Object.keys(failureClasses) as [FailureClass, ...FailureClass[]]);

const head = { v: z.literal(1), job: z.string(), attempt: z.int(), seq: z.int(), t: z.number() };

export const workerEventSchema = z.discriminatedUnion("type", [
  z.object({
    ...head,
    type: z.literal("hello"),
    worker: z.string(),
    pid: z.int(),
    stack: z.record(z.string(), z.string()),
    capabilities: z.object({ phases: z.boolean(), cancel: z.enum(["cooperative", "kill"]) }),
  }),
  z.object({ ...head, type: z.literal("heartbeat"), rssBytes: z.number(), lastPhase: z.string().nullable() }),
  z.object({
    ...head,
    type: z.literal("phase"),
    id: z.int(),
    parent: z.int().nullable(),
    name: z.string(),
    edge: z.enum(["start", "end"]),
    total: z.int().nullable(),
  }),
  z.object({ ...head, type: z.literal("progress"), phase: z.int(), done: z.int(), total: z.int().nullable() }),
  z.object({ ...head, type: z.literal("log"), level: z.enum(["debug", "info", "warning", "error"]), text: z.string() }),
  z.object({
    ...head,
    type: z.literal("metric"),
    name: z.string(),
    value: z.number().nullable(),
    unit: z.string(),
    n: z.int(),
    reason: z.string().optional(),
  }),
  z.object({
    ...head,
    type: z.literal("artifact"),
    path: z.string(),
    bytes: z.int(),
    sha256: z.string(),
    kind: z.string(),
    entry: z.string(),
  }),
  z.object({ ...head, type: z.literal("done") }),
  z.object({ ...head, type: z.literal("error"), class: failureClass, message: z.string(), hint: z.string().optional() }),
  z.object({ ...head, type: z.literal("cancelled"), by: z.string(), phase: z.string().nullable() }),
]);
export type WorkerEvent = z.infer<typeof workerEventSchema>;

export type WorkerCommand =
  | { type: "start"; job: string; attempt: number; spec: unknown }
  | { type: "cancel"; by: string }
  | { type: "visit"; visit: number; arm: string; windowMs: number; cutOffMsPerItem: number | null }
  | { type: "close" };
