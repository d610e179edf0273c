/**
 * The key of an artifact: everything that decides its bytes, and nothing else. Paths, the home
 * folder, host names, ids of devices and the clock are no part of it, so that equal work is shared.
 */
import { canonicalJson, digestJson, type Json } from "../base/index.ts";

/** Version of the fields below; another version never matches. */
const keySchema = 1;

export interface ArtifactKeyFields {
  /** What runs it: operating system, C library, architecture, instruction sets, runtime as loaded. */
  stack: Json;
  /** How it was built: route and every option. */
  builder: Json;
  /** What it was built from: digest, operator sets, inputs and outputs, calibration set and order. */
  model: Json;
}

/** Hex SHA-256 of the canonical JSON of the fields and their version. */
export function artifactKey(fields: ArtifactKeyFields): string {
  return digestJson({ schema: keySchema, stack: fields.stack, builder: fields.builder, model: fields.model });
}

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json | undefined } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Dotted paths of the values that differ, in order: `["stack.runtime.version"]`. */
export function changedFields(one: Json | undefined, other: Json | undefined, at = ""): string[] {
  if (isObject(one) && isObject(other)) {
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    return keys.flatMap((key) => changedFields(one[key], other[key], at ? `${at}.${key}` : key));
  }
  const text = (value: Json | undefined): string | undefined => (value === undefined ? undefined : canonicalJson(value));
  return text(one) === text(other) ? [] : [at || "everything"];
}
