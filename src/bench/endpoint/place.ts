/** Where an endpoint is. */
import { AssayError } from "../../base/index.ts";
import type { Place } from "../../load/index.ts";

/** The place of a base URL. Throws USAGE. */
export function placeOf(url: string): Place & { secure: boolean } {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol))
    throw new AssayError("USAGE", `${url}: expected a URL such as http://host:8000/v1`);
  const secure = parsed.protocol === "https:";
  return {
    secure,
    host: parsed.hostname.replace(/^\[|\]$/g, ""),
    port: parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port),
    path: parsed.pathname.replace(/\/+$/, ""),
  };
}
