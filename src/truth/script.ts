/**
 * What a truth server does, as its file says it: every answer a list of frames with the millisecond at
 * which each is written, counted from the last byte of the request. Frames due at the same time leave in
 * one write, as fast servers coalesce them.
 */
import { parseDocument } from "yaml";
import { z } from "zod";
import { AssayError } from "../base/index.ts";

const at = z.number().min(0).max(3_600_000).describe("milliseconds after the last byte of the request");

const usageSchema = z.strictObject({
  prompt: z.int().min(0).describe("prompt tokens"),
  completion: z.int().min(0).describe("completion tokens, reasoning included"),
  reasoning: z.int().min(0).optional().describe("of these, reasoning tokens"),
  cached: z.int().min(0).optional().describe("prompt tokens out of a cache"),
});

const frameSchema = z
  .strictObject({
    at,
    times: z.int().min(1).max(1_000_000).default(1).describe("how often the frame is written"),
    everyMs: z.number().min(0).default(0).describe("milliseconds between two of these times"),
    role: z.string().optional().describe("role of the message, no token"),
    content: z.string().optional().describe("visible text"),
    reasoning: z.string().optional().describe("reasoning text"),
    tool: z.strictObject({ name: z.string().optional(), arguments: z.string() }).optional().describe("part of a tool call"),
    finish: z.string().optional().describe("finish reason"),
    usage: usageSchema.optional().describe("token counts: beside text, or alone with `choices: []`"),
    error: z.string().optional().describe("message of an error event under HTTP 200"),
    done: z.literal(true).optional().describe("data: [DONE]"),
    comment: z.string().optional().describe("a comment line, as servers send to keep the connection"),
    raw: z.string().optional().describe("bytes as they are, for what no server should send"),
  })
  .describe("one event of the stream");

const answerSchema = z
  .strictObject({
    status: z.int().min(200).max(599).default(200).describe("HTTP status; other than 200 answers JSON with `error`, and no frames"),
    retryAfterSeconds: z.int().min(0).optional().describe("Retry-After"),
    headAt: at.default(0).describe("when the head is written, milliseconds after the request"),
    frames: z.array(frameSchema).default([]).describe("events in order of time"),
    lineEnd: z.enum(["lf", "crlf", "cr"]).default("lf").describe("how lines of events end"),
    end: z
      .enum(["clean", "cut", "hang"])
      .default("clean")
      .describe("after the last frame: end the answer, break off the connection, or say nothing more"),
    endAt: at.optional().describe("when; the time of the last frame unless said"),
  })
  .describe("one answer");

export const truthScriptSchema = z
  .strictObject({
    answers: z.array(answerSchema).min(1).describe("given in turn, from the first again after the last"),
    freeze: z
      .strictObject({ at, forMs: z.number().min(1).max(60_000).describe("length of the freeze, milliseconds") })
      .optional()
      .describe("the whole server stands still: once, that long after its first request"),
  })
  .describe("a server whose every time is written down");
export type TruthScript = z.infer<typeof truthScriptSchema>;
type Answer = TruthScript["answers"][number];
type Frame = Answer["frames"][number];

/** Parses a script. Throws TRUTH_SCRIPT_INVALID naming every place. */
export function parseTruthScript(text: string): TruthScript {
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault) throw new AssayError("TRUTH_SCRIPT_INVALID", fault.message);
  const parsed = truthScriptSchema.safeParse(document.toJS());
  if (!parsed.success) {
    const places = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
    throw new AssayError("TRUTH_SCRIPT_INVALID", places.join("; "));
  }
  return parsed.data;
}

/** A write: bytes and the millisecond after the request at which they leave. */
export interface Write {
  atMs: number;
  bytes: Buffer;
}

export interface CompiledAnswer {
  writes: Write[];
  /** What happens to the connection after the last write. */
  end: Answer["end"];
  endAtMs: number;
}

const lineEnds = { lf: "\n", crlf: "\r\n", cr: "\r" } as const;

function dataOf(frame: Frame): string | null {
  const { role, content, reasoning, tool, finish, usage, error, done } = frame;
  if (done) return "[DONE]";
  if (error !== undefined) return JSON.stringify({ error: { message: error, type: "server_error", code: 500 } });
  const counted = usage && {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion,
    ...(usage.reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: usage.reasoning } }),
    ...(usage.cached !== undefined && { prompt_tokens_details: { cached_tokens: usage.cached } }),
  };
  const delta = {
    ...(role !== undefined && { role }),
    ...(content !== undefined && { content }),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(tool && { tool_calls: [{ index: 0, function: tool }] }),
  };
  const speaks = Object.keys(delta).length > 0 || finish !== undefined;
  if (!speaks && !counted) return null;
  return JSON.stringify({
    id: "chatcmpl-truth",
    object: "chat.completion.chunk",
    created: 0,
    model: "truth",
    choices: speaks ? [{ index: 0, delta, finish_reason: finish ?? null }] : [],
    ...(counted && { usage: counted }),
  });
}

function eventOf(frame: Frame, end: string): string {
  if (frame.raw !== undefined) return frame.raw;
  const comment = frame.comment === undefined ? "" : `: ${frame.comment}${end}${end}`;
  const data = dataOf(frame);
  return data === null ? comment : `${comment}data: ${data}${end}${end}`;
}

const chunk = (text: string): Buffer => {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
};

/** The writes of an answer, ascending in time. */
export function compileAnswer(answer: Answer): CompiledAnswer {
  const { status, retryAfterSeconds, headAt, frames, end } = answer;
  const retry = retryAfterSeconds === undefined ? "" : `Retry-After: ${retryAfterSeconds}\r\n`;
  if (status !== 200) {
    const body = JSON.stringify({ error: { message: `scripted ${status}`, code: status } });
    const head = `HTTP/1.1 ${status} Scripted\r\nContent-Type: application/json\r\n${retry}Content-Length: ${body.length}\r\n\r\n`;
    return { writes: [{ atMs: headAt, bytes: Buffer.from(head + body) }], end, endAtMs: answer.endAt ?? headAt };
  }
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${retry}Transfer-Encoding: chunked\r\n\r\n`;
  const due = frames
    .flatMap((frame) => {
      const bytes = chunk(eventOf(frame, lineEnds[answer.lineEnd]));
      return Array.from({ length: frame.times }, (_, k) => ({ atMs: frame.at + k * frame.everyMs, bytes }));
    })
    .sort((a, b) => a.atMs - b.atMs);
  const last = due.at(-1)?.atMs ?? headAt;
  const endAtMs = answer.endAt ?? last;
  const pieces = [
    { atMs: headAt, bytes: Buffer.from(head) },
    ...due,
    ...(end === "clean" ? [{ atMs: endAtMs, bytes: Buffer.from("0\r\n\r\n") }] : []),
  ];
  const writes: { atMs: number; parts: Buffer[] }[] = [];
  for (const { atMs, bytes } of pieces) {
    const before = writes.at(-1);
    if (before && before.atMs >= atMs) before.parts.push(bytes);
    else writes.push({ atMs, parts: [bytes] });
  }
  return { writes: writes.map(({ atMs, parts }) => ({ atMs, bytes: Buffer.concat(parts) })), end, endAtMs };
}
