/**
 * Splits Server-Sent Events out of bytes (WHATWG HTML, section 9.2.6): lines end with CR, LF or CRLF and
 * with nothing else, a blank line ends an event. Works on bytes, so that a character cut between two reads
 * and a U+2028 inside a string are what they are: data.
 */

/** The event's data lie in `bytes` from `from` to `to`, several lines of data joined by LF; valid during the call. */
export type OnEvent = (bytes: Buffer, from: number, to: number, name: string) => void;

export interface EventReader {
  push(piece: Buffer): void;
  /** The stream ended. What no blank line ended is handed over too; returns whether there was any. */
  end(): boolean;
}

const [LF, CR, COLON, SPACE] = [10, 13, 58, 32];
const DATA = Buffer.from("data:");
const mostLineBytes = 64 * 2 ** 20;

export class EventFault extends Error {}

export function createEventReader(onEvent: OnEvent): EventReader {
  /** Bytes of an event that is not whole. */
  let rest: Buffer = Buffer.alloc(0);
  let afterCr = false;
  let first = true;
  let name = "";
  let parts: Buffer[] = [];

  /** The piece with every line end as LF. */
  const withLf = (piece: Buffer): Buffer => {
    if (!afterCr && piece.indexOf(CR) < 0) return piece;
    const out = Buffer.allocUnsafe(piece.length);
    let used = 0;
    for (const byte of piece) {
      if (byte === LF && afterCr) {
        afterCr = false;
        continue;
      }
      afterCr = byte === CR;
      out[used++] = afterCr ? LF : byte;
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

  return {
    push(piece) {
      const fresh = withLf(piece);
      const bytes = rest.length === 0 ? fresh : Buffer.concat([rest, fresh]);
      let at = first && bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0xefbbbf ? 3 : 0;
      if (bytes.length >= 3) first = false;
      while (at < bytes.length) {
        const end = bytes.indexOf(LF, at);
        if (end < 0) break;
        // Nearly every event is one line of data and a blank one.
        if (parts.length === 0 && name === "" && end + 1 < bytes.length && bytes[end + 1] === LF && DATA.compare(bytes, at, at + 5) === 0) {
          onEvent(bytes, bytes[at + 5] === SPACE ? at + 6 : at + 5, end, "");
          at = end + 2;
          continue;
        }
        line(bytes, at, end);
        at = end + 1;
      }
      if (bytes.length - at > mostLineBytes) throw new EventFault(`a line is longer than ${mostLineBytes} bytes`);
      rest = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
    },
    end() {
      if (rest.length > 0) line(rest, 0, rest.length);
      rest = Buffer.alloc(0);
      const open = parts.length > 0;
      dispatch();
      return open;
    },
  };
}
