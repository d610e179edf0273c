/** The options of `assay bench` as typed, and how each value is read. */
import { readFileSync } from "node:fs";
import { AssayError, parseDurationMs } from "../../base/index.ts";
import type { EndpointQuestion } from "../../bench/index.ts";
import { lengthsSchema, metricTags, requestMetrics, type Arrival, type Lengths } from "../../load/index.ts";
import type { EndpointExchange } from "./run.ts";

export interface BenchOptions extends EndpointExchange {
  model?: string;
  api?: string;
  /** False where `--no-stream` is given. */
  stream: boolean;
  rate?: string;
  concurrency?: string;
  ramp?: string;
  steps?: string;
  trace?: string;
  speed?: string;
  traceRequests?: string;
  sweep?: string;
  findCapacity?: boolean;
  against?: string;
  againstModel?: string;
  pairs?: string;
  arrival?: string;
  duration: string;
  warmUp: string;
  timeout: string;
  connections: string;
  input?: string;
  output?: string;
  sharedPrefix?: string;
  data?: string;
  items?: string;
  jsonTensors?: boolean;
  target?: string[];
  seed?: string;
  /** A URL, or false where `--no-metrics` is given. */
  metrics?: string | false;
  body?: string;
  keyEnv?: string;
  keyFile?: string;
  out?: string;
  json?: boolean;
}

/** The option as it is typed: `warmUp` → `--warm-up`. */
export const flag = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

export function numberOf(text: string, option: string, { least, most, whole }: { least: number; most?: number; whole?: boolean }): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < least || value > (most ?? value) || (whole && !Number.isInteger(value))) {
    const limits = most === undefined ? `${least} or more` : `${least} to ${most}`;
    throw new AssayError("USAGE", `--${option} ${text}: expected a ${whole ? "whole " : ""}number, ${limits}`);
  }
  return value;
}

/** Numbers such as 5,10,20. */
export const numbersOf = (text: string, option: string, count: number): number[] => {
  const values = text.split(",");
  if (values.length < count) throw new AssayError("USAGE", `--${option} ${text}: expected ${count} or more numbers, such as 5,10,20`);
  return values.map((one) => numberOf(one, option, { least: 0.001 }));
};

export function arrivalOf(text = "poisson"): Arrival {
  if (text === "constant" || text === "poisson") return { kind: text };
  const cv = /^gamma:(.+)$/.exec(text)?.[1];
  if (cv === undefined) throw new AssayError("USAGE", `--arrival ${text}: expected constant, poisson or gamma:<variation>`);
  return { kind: "gamma", cv: numberOf(cv, "arrival gamma:", { least: 0.01 }) };
}

/** A target such as ttft.p99=500ms. */
export function targetOf(text: string): EndpointQuestion["targets"][number] {
  const match = /^([a-z0-9-]+)\.p(\d+(?:\.\d+)?)=(.+)$/.exec(text);
  const metric = requestMetrics.find(({ tag }) => tag === match?.[1]);
  const p = Number(match?.[2]) / 100;
  if (!match || !metric || !(p > 0 && p < 1))
    throw new AssayError(
      "USAGE",
      `--target ${text}: expected <metric>.p<percentile>=<limit>, such as ttft.p99=500ms; metrics are ${metricTags.join(", ")}`,
    );
  const limit = metric.unit === "ms" ? parseDurationMs(match[3]!) : numberOf(match[3]!, "target", { least: 0 });
  return { tag: metric.tag as (typeof metricTags)[number], p, limit };
}

/** The file's text. Throws USAGE. */
export function textOf(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new AssayError("USAGE", `--${option} ${path}: it cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown"})`, {
      cause,
    });
  }
}

/** Lengths such as 512, normal:512,64, lognormal:512,0.5, uniform:100,600 or empirical:FILE. */
export function lengthsOf(text: string, option: string): Lengths {
  const [, kind = "fixed", rest = ""] = /^(?:([a-z]+):)?(.*)$/s.exec(text)!;
  const pair = (): [number, number] => {
    const values = rest.split(",").map((one) => numberOf(one, option, { least: 0 }));
    if (values.length !== 2) throw new AssayError("USAGE", `--${option} ${text}: expected two numbers behind ${kind}:`);
    return values as [number, number];
  };
  const made = (): unknown => {
    switch (kind) {
      case "fixed":
        return { kind, tokens: numberOf(rest, option, { least: 1, whole: true }) };
      case "normal": {
        const [mean, sd] = pair();
        return { kind, mean, sd };
      }
      case "lognormal": {
        const [median, sigma] = pair();
        return { kind, median, sigma };
      }
      case "uniform": {
        const [from, to] = pair();
        if (from > to) throw new AssayError("USAGE", `--${option} ${text}: the shortest comes first`);
        return { kind, from, to };
      }
      case "empirical":
        return {
          kind,
          values: textOf(rest, option)
            .split(/[\s,]+/)
            .filter((word) => word !== "")
            .map(Number),
        };
      default:
        return null;
    }
  };
  const found = lengthsSchema.safeParse(made());
  if (!found.success)
    throw new AssayError(
      "USAGE",
      `--${option} ${text}: expected 512, normal:<mean>,<sd>, lognormal:<median>,<sigma>, uniform:<from>,<to> or empirical:<file of lengths>`,
    );
  return found.data;
}

export function keyOf({ keyEnv, keyFile }: BenchOptions): string | null {
  if (keyEnv !== undefined && keyFile !== undefined) throw new AssayError("USAGE", "give --key-env or --key-file, not both");
  if (keyEnv !== undefined) {
    const key = process.env[keyEnv];
    if (!key) throw new AssayError("USAGE", `--key-env ${keyEnv}: the variable is not set`);
    return key;
  }
  return keyFile === undefined ? null : textOf(keyFile, "key-file").trim();
}

export function bodyOf(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new AssayError("USAGE", `--body ${text}: expected a JSON object`);
}
