/**
 * The form of workload.yaml: what must be served and how well. Everything else reads this one file.
 * `schema/workload.v1.json` is generated from here.
 */
import { z } from "zod";

const ratio = (what: string) => z.number().min(0).max(1).describe(`${what}, 0–1`);
const positive = (what: string) => z.number().positive().describe(what);
const count = (what: string) => z.int().min(0).describe(what);
const name = (what: string) => z.string().min(1).describe(what);

const percentileTargets = (what: string) =>
  z
    .record(z.string().regex(/^p\d{1,2}(\.\d+)?$/, "a percentile such as p99 or p99.9"), z.number().positive())
    .describe(`percentile → largest ${what}, milliseconds`);

const perChannel = (what: string) => z.array(z.number()).min(1).max(3).optional().describe(what);

const imageSchema = z
  .strictObject({
    height: z.int().min(1).max(16_384).describe("rows that the model gets"),
    width: z.int().min(1).max(16_384).optional().describe("columns that the model gets; absent = as the image has, padded to a bucket"),
    fit: z
      .enum(["stretch", "contain", "cover"])
      .default("stretch")
      .describe("stretch = both sides; contain = whole image, padded right and below; cover = filled, cut around the middle"),
    shortSide: z
      .int()
      .min(1)
      .max(16_384)
      .optional()
      .describe("cover: length of the shorter side before the cut; absent = as short as fits"),
    filter: z.enum(["nearest", "bilinear", "bicubic", "lanczos"]).default("bilinear").describe("how pixels are resampled"),
    colour: z.enum(["rgb", "bgr", "gray"]).default("rgb").describe("channels and their order"),
    layout: z.enum(["nchw", "nhwc"]).default("nchw").describe("channels before or after rows and columns"),
    mean: perChannel("taken from each channel, after scale and offset"),
    deviation: perChannel("divides each channel, after that"),
  })
  .describe("the field holds paths of images, relative to the data file; each is decoded to bytes 0–255 and resized");

const inputSchema = z
  .strictObject({
    field: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .describe("field of the data; a list, or a name with *, puts several number columns side by side"),
    as: z
      .enum(["float32", "float64", "int64", "int32", "uint8", "bool", "string"])
      .default("float32")
      .describe("element type that the model gets"),
    scale: z.number().default(1).describe("factor on every element"),
    offset: z.number().default(0).describe("added after the factor"),
    layout: z
      .enum(["flatten-if-needed", "as-is"])
      .default("flatten-if-needed")
      .describe("whether an item of the same size may take the model's shape"),
    image: imageSchema.optional(),
    buckets: z
      .array(z.int().min(1).max(1_000_000))
      .min(1)
      .optional()
      .describe("sizes of the free dimension, for items of different length or width: each is padded to the smallest that holds it"),
    pad: z.number().default(0).describe("what is padded with, as the model gets it"),
  })
  .describe("how one model input is made from the data");

const list = <T extends z.ZodType>(item: T, what: string) => z.array(item).min(1).optional().describe(what);

const searchSchema = z
  .strictObject({
    precision: list(
      z.enum(["fp32", "fp16", "int8-dynamic", "int8-static", "int8-weights", "int4-weights"]),
      "build routes; all unless said (int8-weights and int4-weights = MatMul weights in blocks, activations float)",
    ),
    compute: list(z.enum(["half", "single"]), "fp16: computed in half precision, or stored only; half unless said"),
    operators: list(z.enum(["all", "matmul"]), "int8: Conv too, or MatMul and Gemm only; all unless said"),
    accuracyLevel: list(
      z.union([z.literal(0), z.literal(4)]),
      "block-wise weights: 4 = activations become int8 in the kernel, 0 = stay float; 4 unless said",
    ),
    perChannel: list(z.boolean(), "static int8: one weight scale a channel, or one a tensor; both unless said"),
    activations: list(z.enum(["uint8", "int8"]), "static int8: type of the activations; uint8 unless said"),
    symmetric: list(z.boolean(), "static int8: ranges as wide below 0 as above; false unless said"),
    calibration: list(
      z.enum(["minmax", "percentile", "entropy"]),
      "static int8: ranges by their ends, by 99.99 % of the values, or by the cut that loses least information; minmax unless said",
    ),
    form: list(z.enum(["qdq", "qoperator"]), "static int8: pairs that the runtime fuses, or its fused operators; qdq unless said"),
    graph: list(z.enum(["disabled", "basic", "extended", "all"]), "graph optimisation levels; all levels unless said"),
    batch: list(z.int().min(1).max(1024), "most requests joined in one run; 1 and 8 unless said"),
    batchDelayMs: list(z.number().min(0).max(10_000), "longest wait for a batch to fill, milliseconds; 0 unless said"),
    replicas: list(z.int().min(1).max(256), "server processes; 1 and hardware.threads unless said"),
    intraThreads: list(z.int().min(1).max(256), "threads within an operator; 1 and hardware.threads unless said"),
    interThreads: list(z.int().min(1).max(256), "threads across operators in parallel mode; 2 unless said"),
    execution: list(z.enum(["sequential", "parallel"]), "execution modes; both unless said"),
    spinning: list(z.boolean(), "whether idle threads spin; both unless said"),
    arena: list(z.boolean(), "memory arena; both unless said"),
    memoryPattern: list(z.boolean(), "memory pattern; both unless said"),
    combine: z
      .enum(["one-at-a-time", "every"])
      .default("one-at-a-time")
      .describe("settings: one changed at a time, or every combination of those declared; routes are always combined"),
  })
  .describe("the space of candidates");

/** A space of its own: what `--space` reads. */
export const spaceSchema = searchSchema;

export const workloadSchema = z
  .strictObject({
    apiVersion: z.literal("assay/v1").describe("version of this form"),
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "letters, digits, . _ - only, at most 63")
      .describe("name of the workload, also of its run folders"),
    class: z
      .enum(["online", "batch", "compilation", "training", "simulation"])
      .describe("shape of the work; online is decided by this version"),
    models: z
      .array(
        z.strictObject({
          id: z
            .string()
            .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "letters, digits, . _ - only")
            .describe("short name of the model"),
          path: name("ONNX file, relative to this file"),
          licence: z.string().optional().describe("SPDX name of the model's licence"),
        }),
      )
      .min(1)
      .describe("models that may answer the same question; the first is the baseline"),
    allowedLicences: z.array(z.string()).optional().describe("SPDX names; models under another licence are excluded"),
    data: z
      .strictObject({
        path: name("labelled data: .npz, .npy, .jsonl, .csv, or a folder of images, relative to this file"),
        inputs: z.record(z.string(), inputSchema).describe("model input → how it is made"),
        labels: z
          .union([name("field of the labels"), z.array(name("field of one label")).min(1)])
          .describe("field of the labels; several fields, or a pattern such as tag_*, side by side for a multilabel task"),
        classes: z
          .array(z.union([z.string(), z.number()]))
          .optional()
          .describe("class names in the order of the model's scores"),
        score: z
          .strictObject({
            output: z
              .union([z.string(), z.record(z.string(), z.string())])
              .optional()
              .describe("output that is scored, or model id → output; may be absent where a model has one output"),
            decode: z
              .enum(["argmax", "softmax", "sigmoid", "label", "ctc", "identity"])
              .describe("scores → answer: the largest, those above a threshold, characters step by step (ctc), or the value itself"),
            threshold: z.number().default(0.5).describe("sigmoid: smallest score of class 1"),
            ctc: z
              .strictObject({
                charset: name("text file with one character a line, in the order of the model's classes, relative to this file"),
                blank: count("class of the blank").default(0),
                space: z.boolean().default(false).describe("whether a space follows the last character of the file"),
              })
              .optional()
              .describe("ctc: what the classes stand for"),
            k: z.int().min(1).max(1000).optional().describe("retrieval: neighbours that may hold the right one; 1 unless said"),
            partner: name("field that holds the other item of a pair, counted from 0")
              .optional()
              .describe("similarity: the item that this one is compared with"),
          })
          .describe("how an answer is read"),
        task: z
          .enum(["classification", "multilabel", "regression", "text", "retrieval", "similarity"])
          .describe("what is predicted: one class, several labels, a number, a text, or a vector by which like is found or compared"),
        split: z
          .union([
            z.strictObject({
              calibration: count("items for quantisation, from the start of the file"),
              tuning: count("items for the search, after them"),
              holdout: z.int().min(1).describe("items for the accuracy gate, after those"),
            }),
            z.strictObject({ field: name("field that names each item's part: calibration, tuning or holdout") }),
          ])
          .describe("parts of the data"),
        sensitivity: z.enum(["public", "internal", "personal", "health", "secret"]).optional().describe("how protected the data are"),
        residency: z.array(z.string()).optional().describe("ISO countries or named areas where the data may be; absent = anywhere"),
      })
      .describe("labelled data"),
    traffic: z
      .strictObject({
        arrival: z
          .union([
            z.enum(["constant", "poisson"]),
            z.strictObject({ gamma: z.strictObject({ cv: positive("coefficient of variation of the gaps") }) }),
          ])
          .default("poisson")
          .describe("how requests come"),
        ratePerSecond: positive("requests per second at the peak; absent = find the capacity").max(1e6).optional(),
        daily: z
          .strictObject({ peakToMean: z.number().min(1).describe("peak rate ÷ mean rate") })
          .optional()
          .describe("how the rate moves over the day"),
        itemsPerRequest: z.int().min(1).max(4096).default(1).describe("items in one request"),
      })
      .describe("requests to serve"),
    targets: z
      .strictObject({
        latencyMs: percentileTargets("time from due to last byte").optional(),
        ttftMs: percentileTargets("time to first token").optional(),
        tpotMs: percentileTargets("time per output token").optional(),
        e2eMs: percentileTargets("time to the last token").optional(),
        successRatio: ratio("smallest share of requests that succeed").optional(),
        availability: z
          .strictObject({ ratio: ratio("smallest share of good minutes"), windowDays: positive("days it is counted over") })
          .optional()
          .describe("measured after release"),
      })
      .describe("how well it must be served"),
    accuracy: z
      .strictObject({
        metric: z
          .enum(["top1", "exact", "f1", "mse", "mae", "cer", "recall"])
          .describe(
            "top1 = share of right classes; exact, f1 = all labels of an item right, or its F1; mse, mae = mean squared or absolute error; cer = wrong characters ÷ characters; recall = share of items with one of their own among the k nearest",
          ),
        minimum: z.number().optional().describe("worst value allowed, in the metric's unit"),
        maxDrop: z.number().min(0).optional().describe("largest loss against the baseline, absolute, in the metric's unit"),
        closeness: z
          .strictObject({
            minCosine: z.number().min(-1).max(1).optional().describe("least cosine between the two answers to one item"),
            maxRelativeL2: z
              .number()
              .min(0)
              .optional()
              .describe("longest difference of the answers to one item, over the reference's length"),
            maxAbs: z.number().min(0).optional().describe("largest difference of one number, in the output's own unit"),
          })
          .optional()
          .describe(
            "how near the answers themselves must stay to those of the same model unchanged, in the worst item; absent = shown only",
          ),
      })
      .optional()
      .describe("how right it must answer; absent = not asked"),
    volume: z
      .strictObject({
        lifetimeDays: positive("days in service"),
        requestsPerDay: positive("requests a day; must agree with the traffic").optional(),
      })
      .optional()
      .describe("how much is served over its life"),
    hardware: z
      .strictObject({
        region: z.string().optional().describe("where it runs"),
        hourlyUsd: z.number().min(0).optional().describe("price of one replica, US dollars an hour; absent = unknown"),
        memoryMiB: positive("memory that one replica may use, MiB").optional(),
        threads: z.int().min(1).optional().describe("cores that one replica may use; all but one unless said"),
      })
      .default({})
      .describe("what one replica may use, and its price"),
    customisation: z.enum(["none", "prompt", "lora", "fine-tune"]).optional().describe("how the model is adapted"),
    search: searchSchema.prefault({}),
    budget: z
      .strictObject({ wallSeconds: positive("seconds for the whole run") })
      .default({ wallSeconds: 120 })
      .describe("what the run may cost"),
    weights: z
      .strictObject({
        costPerGoodRequest: ratio("weight of cost").optional(),
        operationalComplexity: ratio("weight of operational complexity").optional(),
        vendorRisk: ratio("weight of vendor risk").optional(),
      })
      .optional()
      .describe("order among ties"),
  })
  .meta({ id: "Workload", title: "Assay workload" });
export type Workload = z.infer<typeof workloadSchema>;

/** The JSON Schema that editors read. */
export const workloadJsonSchema = (): unknown => z.toJSONSchema(workloadSchema, { io: "input", target: "draft-7" });
