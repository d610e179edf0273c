/** Sizes and times as people write them on the command line (`25ms`, `2GiB`) and as they are shown. */
import { AssayError } from "./errors.ts";

const timeMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizeBytes: Record<string, number> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
};

function parse(text: string, units: Record<string, number>, what: string, example: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]+)$/.exec(text.trim());
  const unit = match && Object.hasOwn(units, match[2]!) ? units[match[2]!] : undefined;
  if (!match || unit === undefined) {
    throw new AssayError("USAGE", `"${text}" is no ${what}: a number and one of ${Object.keys(units).join(", ")}, such as ${example}`);
  }
  return Number(match[1]) * unit;
}

/** Milliseconds in a text such as `90s` or `2m`. */
export const parseDurationMs = (text: string): number => parse(text, timeMs, "duration", "2m");

/** Bytes in a text such as `512MiB`. */
export const parseBytes = (text: string): number => parse(text, sizeBytes, "size", "2GiB");

/** A number for a sentence: that many significant digits, no locale. */
export const figure = (value: number, digits = 3): string => String(Number(value.toPrecision(digits)));

/** A size for people: 204 kB, 5.3 MB. */
export function formatBytes(bytes: number): string {
  const [unit, scale] = bytes >= 1e9 ? ["GB", 1e9] : bytes >= 1e6 ? ["MB", 1e6] : bytes >= 1e3 ? ["kB", 1e3] : ["B", 1];
  return `${figure(bytes / (scale as number))} ${unit}`;
}
