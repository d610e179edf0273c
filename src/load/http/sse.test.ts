import { describe, expect, it } from "vitest";
import { randomStream } from "../../base/index.ts";
import { createEventReader } from "./sse.ts";

/** Events of the text, the bytes cut at those places. */
function eventsOf(text: string | Buffer, cuts: readonly number[] = []): { events: { data: string; name: string }[]; open: boolean } {
  const bytes = Buffer.from(text as string);
  const events: { data: string; name: string }[] = [];
  const reader = createEventReader((data, from, to, name) => events.push({ data: data.toString("utf8", from, to), name }));
  const places = [0, ...cuts, bytes.length];
  for (let k = 1; k < places.length; k++) reader.push(bytes, places[k - 1]!, places[k]!);
  return { events, open: reader.end() };
}
const dataOf = (text: string | Buffer, cuts?: readonly number[]): string[] => eventsOf(text, cuts).events.map(({ data }) => data);

describe("Server-Sent Events", () => {
  it("end with LF, CRLF or CR, with a space after the colon or none", () => {
    expect(dataOf("data: a\n\ndata:b\r\n\r\ndata:  c\r\rdata:d\n\n")).toEqual(["a", "b", " c", "d"]);
  });

  it("join several lines of data by LF, skip comments, and carry their name to their own event only", () => {
    const { events } = eventsOf(": keep-alive\nevent: message_start\ndata: 1\ndata: 2\nid: 7\n\ndata: 3\n\n");
    expect(events).toEqual([
      { data: "1\n2", name: "message_start" },
      { data: "3", name: "" },
    ]);
  });

  it("are one event each with é cut between its bytes and a raw U+2028 in a string", () => {
    const text = Buffer.from('data:{"a":"é"}\r\n\r\ndata: {"b":"x\u2028y"}\r\n\r\n');
    const middle = text.indexOf(0xc3) + 1;
    expect(dataOf(text, [middle])).toEqual(['{"a":"é"}', '{"b":"x\u2028y"}']);
  });

  it("are the same however the bytes are cut", () => {
    const text = Buffer.from(
      '\uFEFFdata: {"x":"€"}\r\n\r\n: c\r\nevent: e\r\ndata: 1\r\ndata: 2\r\n\r\ndata:3\r\r\ndata: 4\n\ndata\n\ndata:\n\nretry: 1\n\ndata: [DONE]\n\n',
    );
    const whole = eventsOf(text);
    expect(whole.events.map(({ data }) => data)).toEqual(['{"x":"€"}', "1\n2", "3", "4", "", "", "[DONE]"]);
    const stream = randomStream(1, "cuts");
    for (let trial = 0; trial < 500; trial++) {
      const cuts = Array.from({ length: stream.below(8) }, () => stream.below(text.length)).sort((a, b) => a - b);
      expect(eventsOf(text, cuts)).toEqual(whole);
    }
    expect(eventsOf(text, [...text.keys()])).toEqual(whole);
  });

  it("may be shorter than the word data", () => {
    expect(eventsOf("a\n\n\n\ndata: b\n\nc\n\n").events).toEqual([{ data: "b", name: "" }]);
  });

  it("that no blank line ended are handed over at the end, and it is said", () => {
    expect(eventsOf("data: a\n\ndata: b\n")).toEqual({
      events: [
        { data: "a", name: "" },
        { data: "b", name: "" },
      ],
      open: true,
    });
    expect(eventsOf("data: a\n\n").open).toBe(false);
  });
});
