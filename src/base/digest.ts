/** SHA-256 names for values and bytes. Pure JavaScript, so that it runs in a browser too. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { canonicalJson, type Json } from "./canonical-json.ts";

/** Hex SHA-256 of bytes, or of the UTF-8 form of a text. */
export function digestBytes(bytes: Uint8Array | string): string {
  return bytesToHex(sha256(typeof bytes === "string" ? utf8ToBytes(bytes) : bytes));
}

/** Hex SHA-256 of the canonical JSON of a value. */
export function digestJson(value: Json): string {
  return digestBytes(canonicalJson(value));
}

/** The 12 hex digits shown to people. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 12);
}
