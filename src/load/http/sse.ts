/**
 * Splits Server-Sent Events out of bytes (WHATWG HTML, section 9.2.6): lines end with CR, LF or CRLF and
 * with nothing else, a blank line ends an event. Works on bytes, so that a character cut between two reads
 * and a U+2028 inside a string are what they are: data.
 */

import { HttpFault } from "./answer.ts";

/** The event's data lie in `bytes` from `from` to `to`, several lines of data joined by LF; valid during the call. */
export type OnEvent = (bytes: Buffer, from: number, to: number, name: string) => void;

export interface EventReader {
  /** Takes `bytes` from `from` to `to`; they may change afterwards. Throws HttpFault. */
  push(bytes: Buffer, from: number, to: number): void;
  /** The stream ended. What no blank line ended is handed over too; returns whether there was any. The next push begins another stream. */
  end(): boolean;
}

const [LF, CR, COLON, SPACE] = [10, 13, 58, 32];
const DATA = Buffer.from("data:");
const byteOrderMark = 0xefbbbf;
const mostLineBytes = 64 * 2 ** 20;
const nothing = Buffer.alloc(0);

export function createEventReader(onEvent: OnEvent): EventReader {
  /** Bytes of an event that is not whole. */
  let rest: Buffer = nothing;
  let afterCr = false;
  let first = true;
  let name = "";
  let parts: Buffer[] = [];

  /** The piece with every line end as LF. */
  const withLf = (piece: Buffer): Buffer => {
    const out = Buffer.allocUnsafe(piece.length);
    let used = 0;
    for (const byte of piece) {
      const second = byte === LF && afterCr;
      afterCr = byte === CR;
      if (!second) out[used++] = afterCr ? LF : byte;
    }
    return out.subarray(0, used);
  };

  const dispatch = (): void => {
    if (parts.length > 0) {
      const data =
        parts.length === 1 ? parts[0]! : Buffer.concat(parts.flatMap((part, k) => (k === 0 ? [part] : [Buffer.from("\n"), part])));
      onEvent(data, 0, data.length, name);
    }
    parts = [];
    name = "";
  };

  const line = (bytes: Buffer, from: number, to: number): void => {
    if (from === to) return dispatch();
    const colon = bytes.indexOf(COLON, from);
    if (colon === from) return; // a comment
    const end = colon < 0 || colon > to ? to : colon;
    const field = bytes.toString("latin1", from, end);
    const value = Math.min(to, end + 1 + (bytes[end + 1] === SPACE && end + 1 < to ? 1 : 0));
    if (field === "data") parts.push(Buffer.from(bytes.subarray(value, to)));
    else if (field === "event") name = bytes.toString("utf8", value, to);
  };

  /** Takes whole lines; returns where it got to. */
  const scan = (bytes: Buffer, from: number, to: number): number => {
    let at = from;
    while (at < to) {
      const end = bytes.indexOf(LF, at);
      if (end < 0 || end >= to) break;
      // Nearly every event is one line of data and a blank one.
      if (
        parts.length === 0 &&
        name === "" &&
        end + 1 < to &&
        bytes[end + 1] === LF &&
        end - at >= DATA.length &&
        DATA.compare(bytes, at, at + DATA.length) === 0
      ) {
        onEvent(bytes, bytes[at + 5] === SPACE ? at + 6 : at + 5, end, "");
        at = end + 2;
      } else {
        line(bytes, at, end);
        at = end + 1;
      }
    }
    return at;
  };
  const afterMark = (bytes: Buffer, from: number, to: number): number => {
    if (!first) return from;
    if (to - from >= 3) first = false;
    return to - from >= 3 && bytes.readUIntBE(from, 3) === byteOrderMark ? from + 3 : from;
  };

  return {
    push(bytes, from, to) {
      const cr = afterCr ? from : bytes.indexOf(CR, from);
      const plain = cr < 0 || cr >= to;
      if (plain && rest.length === 0) {
        const at = scan(bytes, afterMark(bytes, from, to), to);
        if (at < to) rest = Buffer.from(bytes.subarray(at, to));
      } else {
        const fresh = plain ? bytes.subarray(from, to) : withLf(bytes.subarray(from, to));
        const all = rest.length === 0 ? fresh : Buffer.concat([rest, fresh]);
        const at = scan(all, afterMark(all, 0, all.length), all.length);
        rest = at === all.length ? nothing : Buffer.from(all.subarray(at));
      }
      if (rest.length > mostLineBytes) throw new HttpFault(`a line is longer than ${mostLineBytes} bytes`);
    },
    end() {
      if (rest.length > 0) line(rest, 0, rest.length);
      const open = parts.length > 0;
      dispatch();
      rest = nothing;
      afterCr = false;
      first = true;
      return open;
    },
  };
}
