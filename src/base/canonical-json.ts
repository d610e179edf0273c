/**
 * Canonical JSON (RFC 8785): one text for one value, so that digests and stored verdicts do not
 * depend on who wrote them. Keys sort by UTF-16 code unit; numbers print as ECMAScript prints them.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The canonical text. A key whose value is `undefined` is left out; NaN and infinities are refused. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError(`canonical JSON has no ${value}`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(",")}]`;
  const object = value as { readonly [key: string]: Json | undefined };
  const fields = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as Json)}`);
  return `{${fields.join(",")}}`;
}

/** The value with every number rounded to `digits` significant digits: what stored verdicts hold. */
export function roundNumbers<T>(value: T, digits = 9): T {
  if (typeof value === "number") return (Number.isFinite(value) ? Number(value.toPrecision(digits)) : value) as T;
  if (Array.isArray(value)) return value.map((item) => roundNumbers(item, digits)) as T;
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, roundNumbers(item, digits)])) as T;
  }
  return value;
}
