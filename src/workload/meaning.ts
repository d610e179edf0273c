/** What the form of a workload cannot say: fields that contradict each other, and fields not acted on. */
import { nearestName, type Fault } from "./faults.ts";
import type { Workload } from "./schema.ts";

type MeaningFault = Omit<Fault, "line" | "column" | "path"> & { path: (string | number)[] };

const areas = ["EU", "EEA", "EFTA", "APAC", "LATAM", "MEA", "AMER", "EMEA", "UK"];

function isPlace(code: string): boolean {
  if (areas.includes(code)) return true;
  return /^[A-Z]{2}$/.test(code) && new Intl.DisplayNames(["en"], { type: "region", fallback: "none" }).of(code) !== undefined;
}

const percent = (name: string): number => Number(name.slice(1));

/** Percentile targets as [percent, milliseconds], ascending. */
export const latencyTargets = (workload: Workload): [number, number][] =>
  Object.entries(workload.targets.latencyMs ?? {})
    .map(([name, ms]): [number, number] => [percent(name), ms])
    .sort((a, b) => a[0] - b[0]);

/** Every target in words. */
export function targetsInWords({ targets, accuracy, hardware }: Workload): string[] {
  const latency = Object.entries(targets.latencyMs ?? {}).map(([name, ms]) => `${name} ≤ ${ms} ms`);
  const success = targets.successRatio === undefined ? [] : [`success ratio ≥ ${targets.successRatio}`];
  const memory = hardware.memoryMiB === undefined ? [] : [`memory ≤ ${hardware.memoryMiB} MiB`];
  const better = ["mse", "mae", "cer"].includes(accuracy?.metric ?? "") ? "≤" : "≥";
  const minimum = accuracy?.minimum === undefined ? [] : [`${accuracy.metric} ${better} ${accuracy.minimum}`];
  const drop = accuracy?.maxDrop === undefined ? [] : [`${accuracy.metric} at most ${accuracy.maxDrop} worse than the baseline`];
  const { minCosine, maxRelativeL2, maxAbs } = accuracy?.closeness ?? {};
  const close = [
    ...(minCosine === undefined ? [] : [`cosine of answers ≥ ${minCosine}`]),
    ...(maxRelativeL2 === undefined ? [] : [`relative difference of answers ≤ ${maxRelativeL2}`]),
    ...(maxAbs === undefined ? [] : [`difference of one number ≤ ${maxAbs}`]),
  ];
  return [...latency, ...success, ...memory, ...minimum, ...drop, ...close];
}

/** Conditions that the verdict takes for granted. */
export function openConditionsOf({ data, models, allowedLicences }: Workload): string[] {
  const residency = data.residency
    ? [`Data may be in ${data.residency.join(", ")} only; where the measuring host stands was not checked.`]
    : [];
  const unsaid = models.filter(({ licence }) => licence === undefined).map(({ id }) => id);
  const licence =
    unsaid.length > 0
      ? [`No licence is stated for ${unsaid.join(", ")}.`]
      : allowedLicences
        ? []
        : ["Whether the models' licences allow this use was not checked."];
  return [...residency, ...licence];
}

/** What an input's images and buckets ask for that cannot be. */
function checkInput(
  plan: Workload["data"]["inputs"][string],
  fault: (field: string[], message: string, found: string, expected: string) => void,
): void {
  const { image, buckets } = plan;
  if (!image) return;
  const { width, fit, shortSide, colour, mean, deviation } = image;
  if (width === undefined && !buckets)
    fault(
      ["image", "width"],
      "missing: without it the width is the image's own, and buckets must say which may be",
      "nothing",
      "width, or buckets beside image",
    );
  if (width === undefined && fit !== "stretch") fault(["image", "fit"], "it needs a width to fit into", fit, "a width");
  if (shortSide !== undefined && fit !== "cover") fault(["image", "shortSide"], "only fit: cover cuts", fit, "fit: cover");
  if (shortSide !== undefined && width !== undefined && shortSide < Math.max(width, image.height))
    fault(["image", "shortSide"], "the cut would be larger than the image", String(shortSide), `at least ${Math.max(width, image.height)}`);
  const channels = colour === "gray" ? 1 : 3;
  for (const [name, values] of Object.entries({ mean, deviation })) {
    if (values && values.length !== 1 && values.length !== channels)
      fault(
        ["image", name],
        `${colour} has ${channels} channel${channels === 1 ? "" : "s"}`,
        `${values.length} values`,
        `1 or ${channels}`,
      );
  }
  if (deviation?.includes(0)) fault(["image", "deviation"], "nothing can be divided by it", "0", "a number other than 0");
}

/** How the answer of a task may be read, and what may be asked of it. */
const tasks: Record<Workload["data"]["task"], { decodes: readonly string[]; metrics: readonly string[] }> = {
  classification: { decodes: ["argmax", "softmax", "sigmoid", "label"], metrics: ["top1"] },
  multilabel: { decodes: ["sigmoid"], metrics: ["exact", "f1"] },
  regression: { decodes: ["identity"], metrics: ["mse", "mae"] },
  text: { decodes: ["ctc", "label"], metrics: ["cer"] },
  retrieval: { decodes: ["identity"], metrics: ["recall"] },
  similarity: { decodes: ["identity"], metrics: ["mse", "mae"] },
};

export function checkMeaning(workload: Workload): { faults: MeaningFault[]; notUsed: { path: string; why: string }[] } {
  const faults: MeaningFault[] = [];
  const fault = (path: (string | number)[], message: string, found: string, expected: string, nearest?: string): void =>
    void faults.push({ path, message, found, expected, ...(nearest && { nearest }) });
  const { models, data, targets, traffic, accuracy, volume } = workload;

  if (workload.class !== "online") fault(["class"], "this version decides online workloads only", workload.class, "online");
  const seen = new Set<string>();
  models.forEach(({ id }, i) => {
    if (seen.has(id)) fault(["models", i, "id"], "two models have this id", id, "an id of its own");
    seen.add(id);
  });
  const latency = latencyTargets(workload);
  latency.forEach(([p, ms], i) => {
    const higher = latency.slice(i + 1).find(([, other]) => other < ms);
    if (higher)
      fault(
        ["targets", "latencyMs", `p${p}`],
        "a lower percentile may not be slower than a higher one",
        `p${p} ${ms} ms above p${higher[0]} ${higher[1]} ms`,
        `at most ${higher[1]}`,
      );
  });
  for (const name of ["ttftMs", "tpotMs", "e2eMs"] as const) {
    if (targets[name]) fault(["targets", name], "only models that produce tokens have this metric", name, "latencyMs");
  }
  if (latency.length === 0 && targets.successRatio === undefined)
    fault(["targets"], "no target is stated", "nothing", "latencyMs or successRatio");
  if (accuracy) {
    const right = tasks[data.task].metrics;
    if (!right.includes(accuracy.metric))
      fault(["accuracy", "metric"], `a ${data.task} has another metric`, accuracy.metric, right.join(" or "));
    if (accuracy.minimum === undefined && accuracy.maxDrop === undefined && accuracy.closeness === undefined)
      fault(["accuracy"], "it asks for nothing", "neither minimum nor maxDrop nor closeness", "one of them");
  }
  for (const [name, plan] of Object.entries(data.inputs)) {
    checkInput(plan, (field, message, found, expected) => fault(["data", "inputs", name, ...field], message, found, expected));
  }
  const { decode, ctc, partner } = data.score;
  const { decodes } = tasks[data.task];
  if (!decodes.includes(decode)) fault(["data", "score", "decode"], `a ${data.task} is read otherwise`, decode, decodes.join(" or "));
  if (decode === "ctc" && !ctc) fault(["data", "score", "ctc"], "missing: ctc needs its characters", "nothing", "charset: FILE");
  if (data.task === "similarity" && partner === undefined)
    fault(["data", "score", "partner"], "missing: a similarity compares an item with another", "nothing", "a field of the data");
  if (typeof data.score.output === "object") {
    for (const id of Object.keys(data.score.output)) {
      const ids = models.map((model) => model.id);
      if (!ids.includes(id)) fault(["data", "score", "output", id], "no model has this id", id, ids.join(", "), nearestName(id, ids));
    }
  }
  data.residency?.forEach((code, i) => {
    if (!isPlace(code))
      fault(["data", "residency", i], "unknown place", code, `an ISO country such as DE, or ${areas.join(", ")}`, nearestName(code, areas));
  });
  if (volume?.requestsPerDay !== undefined && traffic.ratePerSecond !== undefined) {
    const expected = (traffic.ratePerSecond / (traffic.daily?.peakToMean ?? 1)) * 86_400;
    if (Math.abs(volume.requestsPerDay - expected) > 0.05 * expected) {
      fault(
        ["volume", "requestsPerDay"],
        "it contradicts the traffic",
        String(volume.requestsPerDay),
        `about ${Math.round(expected)} by traffic.ratePerSecond and daily`,
      );
    }
  }
  const notUsed: { path: string; why: string }[] = [];
  const later = (path: string, stated: unknown, why: string): void => void (stated !== undefined && notUsed.push({ path, why }));
  later("targets.availability", targets.availability, "it is measured after release");
  later("data.sensitivity", data.sensitivity, "it chooses places, and this run measures one host");
  later("hardware.region", workload.hardware.region, "this run measures one host");
  later("customisation", workload.customisation, "it enters the estimate only");
  later("weights", workload.weights, "only cost decides so far");
  return { faults, notUsed };
}
