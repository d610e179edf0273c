/** A complete HTTP/1.1 request, made once and sent many times. */

/** Where an API is: the path is that of the base URL, without a slash at its end. */
export interface Place {
  host: string;
  port: number;
  path: string;
}

export interface EncodedRequest {
  bytes: Uint8Array;
  /** Where the ten digits of `uniqueMark` are; undefined = it has none. */
  uniqueAt: number | undefined;
}

/** Ten digits that the sender replaces by the request's own number. */
export const uniqueMark = "0000000000";

const shownHost = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** @param headers besides Host, Content-Type of JSON, Accept-Encoding and Content-Length, and over them */
export function encodeRequest(
  method: string,
  { host, port, path }: Place,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): EncodedRequest {
  const all = {
    Host: `${shownHost(host)}:${port}`,
    ...(body.byteLength > 0 && { "Content-Type": "application/json" }),
    "Accept-Encoding": "identity",
    ...headers,
    ...((body.byteLength > 0 || method !== "GET") && { "Content-Length": String(body.byteLength) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = Buffer.from(`${[`${method} ${path}${target} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n`);
  const bytes = Buffer.concat([head, body]);
  // Never in a header: a key may look like the mark.
  const inBody = bytes.indexOf(uniqueMark, head.byteLength);
  const at = inBody >= 0 ? inBody : target.includes(uniqueMark) ? head.indexOf(uniqueMark) : -1;
  return { bytes, uniqueAt: at < 0 ? undefined : at };
}

export const encodePost = (place: Place, target: string, headers: Readonly<Record<string, string>>, body: Uint8Array): EncodedRequest =>
  encodeRequest("POST", place, target, headers, body);
