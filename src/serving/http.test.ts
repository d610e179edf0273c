import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createHttpServer, type HttpOptions, type HttpRequest, type HttpServer, type Respond } from "./http.ts";

const open: { server: HttpServer; sockets: Socket[] }[] = [];
afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    sockets.forEach((socket) => socket.destroy());
    await server.drain();
  }
});

/** A server that says what it was asked; `on` may answer by hand. */
async function serve(more: Partial<HttpOptions> = {}) {
  const echo = ({ method, path, body }: HttpRequest, respond: Respond): void => respond(200, {}, `${method} ${path} ${body.toString()}`);
  const server = createHttpServer({
    handler: echo,
    refuse: (status, why, respond) => respond(status, {}, why),
    mostBodyBytes: 100_000,
    idleMs: 60_000,
    arrivalMs: 60_000,
    ...more,
  });
  await new Promise<void>((resolve) => server.listener.listen(0, "127.0.0.1", resolve));
  const sockets: Socket[] = [];
  open.push({ server, sockets });
  /** Writes the pieces one after another and gives all that came back once the server closed, or fell silent. */
  const talk = async (pieces: readonly (string | Buffer)[], { halfClose = true, quietMs = 5000, gapMs = 1 } = {}): Promise<string> => {
    const socket = connect({ port: (server.listener.address() as AddressInfo).port, host: "127.0.0.1", noDelay: true });
    sockets.push(socket);
    let heard = "";
    socket.on("data", (piece) => (heard += piece.toString()));
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await new Promise((resolve) => socket.once("connect", resolve));
    for (const piece of pieces) {
      socket.write(piece);
      if (pieces.length > 1) await new Promise((resolve) => setTimeout(resolve, gapMs));
    }
    if (halfClose) socket.end();
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, quietMs))]);
    return heard;
  };
  return { server, talk };
}

const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`;
const post = (body: string, more = ""): string => `POST /p HTTP/1.1\r\nHost: h\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const bodies = (heard: string): string[] =>
  heard
    .split("HTTP/1.1 ")
    .slice(1)
    .map((answer) => answer.slice(answer.indexOf("\r\n\r\n") + 4));
const statuses = (heard: string): number[] => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

describe("HTTP of the model server", () => {
  const chunked = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nTrailer: t\r\n\r\n";
  it("answers requests of every kind in order, however they are cut", async () => {
    const { talk } = await serve();
    const all = Buffer.from(`\r\n${get("/a?q=1")}${post("hello")}${chunked}${post("")}${get("/z")}`);
    const expected = ["GET /a ", "POST /p hello", "POST /c abcd", "POST /p ", "GET /z "];
    expect(bodies(await talk([all]))).toEqual(expected);
    for (const size of [1, 2, 7, 61]) {
      const pieces = Array.from({ length: Math.ceil(all.byteLength / size) }, (_, i) => all.subarray(i * size, (i + 1) * size));
      expect(bodies(await talk(pieces)), `cut by ${size}`).toEqual(expected);
    }
  });
  it("keeps its answers in order when they are slow, and holds what comes meanwhile", async () => {
    const { talk } = await serve({
      handler: ({ path, body }, respond) => void setTimeout(() => respond(200, {}, `${path} ${body.byteLength}`), path === "/p" ? 5 : 30),
    });
    const heard = await talk([get("/slow"), ...Array.from({ length: 5 }, () => post("x".repeat(50_000)))]);
    expect(bodies(heard)).toEqual(["/slow 0", ...Array(5).fill("/p 50000")]);
  });
  it("answers HEAD without a body and HTTP/1.0 once", async () => {
    const { talk } = await serve();
    const heard = await talk([`HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n${get("/i")}`]);
    expect(heard).toMatch(/^HTTP\/1\.1 200 OK\r\nDate: .* GMT\r\nContent-Length: 8\r\n\r\nHTTP\/1\.1 200 OK/);
    const once = await talk(["GET /old HTTP/1.0\r\n\r\n"], { halfClose: false });
    expect(once).toMatch(/Connection: close\r\n\r\nGET \/old $/);
  });
  it("tells a client that waits to go on", async () => {
    const { talk } = await serve();
    const heard = await talk(["POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", "ok"], { gapMs: 500 });
    expect(heard).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*POST \/e ok$/);
  });
  it.each([
    ["no request line", "hello\r\n\r\n", 400],
    ["a space before a colon", get("/", "A : b\r\n"), 400],
    ["a folded line", get("/", "A: b\r\n c\r\n"), 400],
    ["a bare line feed", get("/", "A: b\nC: d\r\n"), 400],
    ["two lengths", post("ab", "Content-Length: 3\r\n"), 400],
    ["a length that is none", get("/", "Content-Length: -1\r\n"), 400],
    ["a length and chunks", get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400],
    ["a coding that is not spoken", get("/", "Transfer-Encoding: gzip, chunked\r\n"), 501],
    ["a chunk without a size", get("/", "Transfer-Encoding: chunked\r\n") + "x\r\n", 400],
    ["a chunk longer than it says", get("/", "Transfer-Encoding: chunked\r\n") + "1\r\nabc\r\n0\r\n\r\n", 400],
    ["no Host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["a head without end", `GET / HTTP/1.1\r\nA: ${"x".repeat(20_000)}`, 431],
    ["a body too large", get("/", "Content-Length: 100001\r\n"), 413],
    ["chunks too large", `${get("/", "Transfer-Encoding: chunked\r\n")}1ffff\r\n`, 413],
  ])("refuses %s and closes", async (_, text, status) => {
    const { talk } = await serve();
    const heard = await talk([text], { halfClose: false });
    expect(statuses(heard)).toEqual([status]);
    expect(heard).toMatch(/Connection: close\r\n/);
  });
  it("closes connections that are still too long, also with half a request", async () => {
    const { talk } = await serve({ idleMs: 50, arrivalMs: 100 });
    const begun = performance.now();
    expect(await talk([""], { halfClose: false })).toBe("");
    expect(await talk(["GET / HT"], { halfClose: false })).toBe("");
    expect(performance.now() - begun).toBeLessThan(4500);
  });
  it("answers what it has taken before it ends, and nothing after", async () => {
    let release = (): void => {};
    const { server, talk } = await serve({ handler: (_, respond) => void (release = () => respond(200, {}, "late")) });
    const heard = talk([get("/") + get("/never")], { halfClose: false });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const drained = server.drain();
    release();
    await drained;
    expect(bodies(await heard)).toEqual(["late"]);
  });
  it("outlives clients that leave", async () => {
    const { talk } = await serve({ handler: (_, respond) => void setTimeout(() => respond(200, {}, "x".repeat(1_000_000)), 20) });
    await talk([get("/")], { halfClose: false, quietMs: 5 });
    open[0]!.sockets[0]!.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(statuses(await talk([get("/")]))).toEqual([200]);
  });
});
