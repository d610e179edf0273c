/** Which endpoint is measured: a protocol's name, a URL and the options that go with that protocol. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { z } from "zod";
import { parse } from "yaml";
import { AssayError, digestBytes } from "../../base/index.ts";
import { placeOf, templateSchema, type Endpoint } from "../../bench/index.ts";
import { parsePath, promptApis, type PromptApiName } from "../../load/index.ts";
import { bodyOf, flag, lengthsOf, numberOf, type BenchOptions } from "./options.ts";

type OptionName = keyof BenchOptions;
const promptOptions = ["input", "output", "sharedPrefix", "body"] as const satisfies OptionName[];
const tensorOptions = ["data", "items", "jsonTensors"] as const satisfies OptionName[];
const openAiCalls = ["chat", "completions", "responses", "embeddings"];

/** What each protocol takes besides the options of every load. */
const protocols = {
  openai: ["model", "api", ...promptOptions],
  anthropic: ["model", ...promptOptions],
  "triton-generate": ["model", ...promptOptions],
  oip: ["model", ...tensorOptions],
  http: [],
} as const satisfies Record<string, OptionName[]>;
export type ProtocolName = keyof typeof protocols;
const names = Object.keys(protocols) as ProtocolName[];
const special: readonly OptionName[] = [...new Set(Object.values(protocols).flat())];

/** Throws USAGE where it is unknown, or an option does not go with it. */
export function protocolOf(text: string, options: BenchOptions): ProtocolName {
  const name = names.find((one) => one === text);
  if (!name) throw new AssayError("USAGE", `${text}: known protocols are ${names.join(", ")}`);
  const takes: readonly OptionName[] = protocols[name];
  const stray = special.find((option) => options[option] !== undefined && !takes.includes(option));
  if (stray) throw new AssayError("USAGE", `${flag(stray)} does not go with ${name}`);
  if (takes.includes("model") && options.model === undefined)
    throw new AssayError("USAGE", `--model is missing: the model's name in the request`);
  return name;
}

function promptOf(api: PromptApiName, url: string, model: string, options: BenchOptions): Endpoint {
  const { input = "256", output = "128", sharedPrefix = "0", stream, body } = options;
  return {
    protocol: "prompt",
    api,
    url,
    model,
    stream: stream && promptApis[api].streams,
    input: lengthsOf(input, "input"),
    output: lengthsOf(output, "output"),
    sharedRatio: numberOf(sharedPrefix, "shared-prefix", { least: 0, most: 1 }),
    more: bodyOf(body),
  };
}

function templateOf(path: string): Endpoint {
  let written: unknown;
  try {
    written = parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new AssayError("USAGE", `${path}: the template cannot be read: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
  const found = templateSchema.safeParse(written);
  if (!found.success) throw new AssayError("USAGE", `${path}: ${z.prettifyError(found.error)}`);
  const { url, body, ...rest } = found.data;
  for (const check of rest.checks) parsePath(check.path);
  const [, origin, target = "/"] = /^(https?:\/\/[^/?#]+)(\/.*)?$/.exec(url) ?? [];
  if (origin === undefined) throw new AssayError("USAGE", `${path}: url: expected one such as http://host:8000/predict`);
  placeOf(origin);
  return { protocol: "template", ...rest, url: origin, path: target, body: typeof body === "string" ? body : JSON.stringify(body) };
}

function tensorsOf(url: string, model: string, { data, items = "1", jsonTensors }: BenchOptions): Endpoint {
  let digest: string | null = null;
  try {
    if (data !== undefined) digest = digestBytes(readFileSync(data));
  } catch (cause) {
    throw new AssayError("USAGE", `--data ${data}: it cannot be read`, { cause });
  }
  return {
    protocol: "oip",
    url,
    model,
    data: data === undefined ? null : basename(data),
    dataDigest: digest,
    itemsPerRequest: numberOf(items, "items", { least: 1, whole: true }),
    binary: jsonTensors !== true,
  };
}

/** The endpoint at that place: a base URL, or of `http` the file of the template. Throws USAGE. */
export function endpointOf(protocol: ProtocolName, place: string, model: string, options: BenchOptions): Endpoint {
  if (protocol === "http") return templateOf(place);
  placeOf(place);
  switch (protocol) {
    case "openai": {
      const { api = "chat" } = options;
      if (!openAiCalls.includes(api)) throw new AssayError("USAGE", `--api ${api}: expected ${openAiCalls.join(", ")}`);
      return promptOf(`openai-${api}` as PromptApiName, place, model, options);
    }
    case "anthropic":
      return promptOf("anthropic-messages", place, model, options);
    case "triton-generate":
      return promptOf("triton-generate", place, model, options);
    case "oip":
      return tensorsOf(place, model, options);
  }
}
