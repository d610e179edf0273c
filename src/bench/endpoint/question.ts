/** What a run against running endpoints is asked to measure, as its journal keeps it; no secret is in it. */
import { z } from "zod";
import { checkSchema, lengthsSchema, metricTags, promptApiNames } from "../../load/index.ts";

const url = z.string().describe("base URL");

export const endpointSchema = z
  .discriminatedUnion("protocol", [
    z.strictObject({
      protocol: z.literal("prompt"),
      api: z.enum(promptApiNames).describe("which call"),
      url,
      model: z.string().describe("model's name in the request"),
      stream: z.boolean().describe("whether the answer is streamed"),
      input: lengthsSchema.describe("prompt length asked for"),
      output: lengthsSchema.describe("most tokens of an answer"),
      sharedRatio: z.number().min(0).max(1).describe("part of each prompt that all of them begin with, 0–1"),
      more: z.record(z.string(), z.unknown()).describe("further fields of each request's body"),
    }),
    z.strictObject({
      protocol: z.literal("oip"),
      url,
      model: z.string().describe("model's name"),
      data: z.string().nullable().describe("file of the inputs, by name; null = numbers drawn at random in the model's shapes"),
      dataDigest: z.string().nullable().describe("SHA-256 of the file"),
      itemsPerRequest: z.int().min(1).describe("items of a request"),
      binary: z.boolean().describe("tensors as bytes behind the JSON; else as JSON"),
    }),
    z.strictObject({
      protocol: z.literal("template"),
      url,
      method: z.string().describe("HTTP method"),
      path: z.string().describe("path behind the URL"),
      headers: z.record(z.string(), z.string()).describe("headers; ${env:NAME} stands for a variable that is not kept"),
      body: z.string().describe("body; ${unique} stands for the request's number"),
      checks: z.array(checkSchema).describe("what a good answer holds"),
    }),
  ])
  .describe("an endpoint and what is asked of it");
export type Endpoint = z.infer<typeof endpointSchema>;
export type PromptEndpoint = Extract<Endpoint, { protocol: "prompt" }>;
export type OipEndpoint = Extract<Endpoint, { protocol: "oip" }>;
export type TemplateEndpoint = Extract<Endpoint, { protocol: "template" }>;

/** A file of a request by template; `${unique}` and `${env:NAME}` stand in its texts. */
export const templateSchema = z.strictObject({
  url: z.string().describe("whole URL, such as http://host:8000/predict"),
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]).default("POST").describe("HTTP method"),
  headers: z
    .record(z.string().regex(/^[\w-]+$/), z.string().regex(/^[^\r\n]*$/))
    .default({})
    .describe("headers"),
  body: z
    .union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())])
    .default("")
    .describe("text, or what is sent as JSON"),
  checks: z.array(checkSchema).default([]).describe("what a good answer holds"),
});

const arrivalSchema = z.union([
  z.strictObject({ kind: z.enum(["constant", "poisson"]) }),
  z.strictObject({ kind: z.literal("gamma"), cv: z.number().describe("coefficient of variation of the gaps") }),
]);
const rate = z.number().min(0).describe("requests per second");

export const loadSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("open"),
      ratePerSecond: rate,
      arrival: arrivalSchema.describe("how they are spread"),
    }),
    z.strictObject({
      kind: z.literal("ramp"),
      fromPerSecond: rate,
      toPerSecond: rate,
      arrival: arrivalSchema.describe("how they are spread"),
    }),
    z.strictObject({
      kind: z.literal("steps"),
      ratesPerSecond: z.array(rate).min(1).describe("one after another, each for the same time"),
      arrival: arrivalSchema.describe("how they are spread"),
    }),
    z.strictObject({ kind: z.literal("closed"), concurrency: z.int().min(1).describe("requests in flight") }),
    z.strictObject({
      kind: z.literal("trace"),
      file: z.string().describe("file of the trace"),
      digest: z.string().describe("SHA-256 of the file"),
      format: z.string().describe("its format"),
      speed: z.number().min(0.001).describe("how much faster than recorded"),
      requests: z.int().min(1).describe("requests of it that are sent"),
    }),
  ])
  .describe("open, ramp, steps, trace = by a schedule, whatever the server does; closed = the next one when one ends");
export type EndpointLoad = z.infer<typeof loadSchema>;

export const targetSchema = z
  .strictObject({
    tag: z.enum(metricTags),
    p: z.number().describe("percentile, 0–1"),
    limit: z.number().describe("in the metric's unit"),
  })
  .describe("a limit on a percentile");

export const designSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("one") }),
    z.strictObject({ kind: z.literal("sweep"), ratesPerSecond: z.array(rate).min(2).describe("rates, each measured by itself") }),
    z.strictObject({
      kind: z.literal("capacity"),
      startPerSecond: z.number().nullable().describe("first rate; null = what a short closed loop reaches"),
    }),
    z.strictObject({ kind: z.literal("against"), pairs: z.int().min(2).describe("most pairs of visits, one of each endpoint") }),
  ])
  .describe("one run · a sweep over rates · the highest rate that keeps every target · one endpoint against another");
export type Design = z.infer<typeof designSchema>;

export const endpointQuestionSchema = z.strictObject({
  endpoints: z.array(endpointSchema).min(1).max(2).describe("the endpoint; of a comparison both"),
  load: loadSchema,
  design: designSchema,
  durationMs: z.number().describe("length of a window, milliseconds"),
  warmUpMs: z.number().describe("the same load before it, not counted, milliseconds"),
  timeoutMs: z.number().describe("when a request is given up, milliseconds"),
  connections: z.int().describe("most connections; beyond it requests wait, and the wait counts"),
  targets: z.array(targetSchema).describe("limits on percentiles"),
  metrics: z
    .string()
    .nullable()
    .describe("URL of the server's metrics; own = /metrics of the endpoint, if there is one; null = they are not read"),
  seed: z.string().describe("root of all random streams"),
});
export type EndpointQuestion = z.infer<typeof endpointQuestionSchema>;
