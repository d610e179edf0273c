/**
 * Long lists of numbers in JSON, read from their bytes: `JSON.parse` makes a value of each, which costs
 * more than a small model's run. What is not plainly a list of numbers is left to `JSON.parse`, so the
 * two agree on every text (`numbers.test.ts`).
 */
import { randomUUID } from "node:crypto";
import { zeros, type DataType, type Tensor } from "../tensor/index.ts";

/** What stands for a lifted list in the shortened text. No client can guess it. */
const mark = `${randomUUID()}:`;
const key = Buffer.from('"data"');

const [tab, lineFeed, carriageReturn, space] = [0x09, 0x0a, 0x0d, 0x20];
const [quote, plus, comma, minus, point] = [0x22, 0x2b, 0x2c, 0x2d, 0x2e];
const [zero, nine, colon, opening, closing, letterE] = [0x30, 0x39, 0x3a, 0x5b, 0x5d, 0x65];

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  for (; bytes[at]! <= space; at++) {
    const byte = bytes[at]!;
    if (byte !== space && byte !== lineFeed && byte !== carriageReturn && byte !== tab) break;
  }
  return at;
}

export interface Lifted {
  /** The text with a mark in place of each list that was lifted. */
  text: string;
  /** What follows their opening bracket, with the closing one, by their mark. */
  lists: ReadonlyMap<string, Buffer>;
}

/** Where the list after a key `"data"` begins, after its bracket; −1 when none follows. */
function listAfter(bytes: Buffer, from: number): number {
  let at = skipSpace(bytes, from);
  if (bytes[at++] !== colon) return -1;
  at = skipSpace(bytes, at);
  return bytes[at] === opening ? at + 1 : -1;
}

/**
 * Takes the lists of keys `"data"` out of JSON text, up to the first closing bracket of each; those that
 * hold texts stay. A nested list leaves its other brackets behind, where no JSON allows them.
 */
export function liftLists(bytes: Buffer): Lifted {
  const lists = new Map<string, Buffer>();
  let text = "";
  let done = 0;
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.byteLength)) {
    const begin = listAfter(bytes, at + key.byteLength);
    const end = begin < 0 ? -1 : bytes.indexOf(closing, begin);
    if (end < 0) continue;
    const inside = bytes.subarray(begin, end + 1);
    if (inside.includes(quote)) continue;
    const name = `${mark}${lists.size}`;
    lists.set(name, inside);
    text += `${bytes.toString("utf8", done, begin - 1)}"${name}"`;
    done = at = end + 1;
  }
  return { text: text + bytes.toString("utf8", done), lists };
}

/** Powers of ten that a double holds exactly. */
const tens = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
/** Digits that a 32-bit integer holds whatever they are, and those that a double holds beyond them. */
const [firstDigits, moreDigits] = [9, 6];
/** More than leaving the other digits away and two roundings can be off, relative. */
const slack = 2e-14;
const plainTypes: readonly DataType[] = ["FP32", "FP64", "INT8", "INT16", "INT32", "UINT8", "UINT16", "UINT32"];

/** Roughly digits × 10^power, within `slack`, for powers from −44 to 22; exact from −22 on. */
function scaled(digits: number, power: number): number {
  if (power >= 0) return digits * tens[power]!;
  return power >= -22 ? digits / tens[-power]! : digits / tens[22]! / tens[-power - 22]!;
}

/**
 * Reads `count` numbers between commas up to the closing bracket that ends the text. Returns null for
 * anything else: another count, no JSON number, one that the type does not hold, a type of another kind.
 */
export function readNumbers(text: Buffer, datatype: DataType, count: number): Tensor["data"] | null {
  // A number and what ends it take two bytes: no room is made for more than can be there.
  if (!plainTypes.includes(datatype) || count < 1 || 2 * count > text.byteLength) return null;
  const single = datatype === "FP32";
  const whole = !single && datatype !== "FP64";
  const numbers = zeros(datatype, count) as Float64Array;
  let at = 0;
  for (let k = 0; k < count; k++) {
    at = skipSpace(text, at);
    const begin = at;
    const negative = text[at] === minus;
    if (negative) at++;
    // Digits: nine in an integer, six in another, the rest only counted.
    const first = at;
    let high = 0;
    let low = 0;
    let used = 0;
    let left = 0;
    let pointAt = -1;
    for (; ; at++) {
      const byte = text[at]!;
      if (byte >= zero && byte <= nine) {
        if (used < firstDigits) {
          high = high * 10 + (byte - zero);
          if (high > 0) used++;
        } else if (used < firstDigits + moreDigits) {
          low = low * 10 + (byte - zero);
          used++;
        } else left++;
      } else if (byte === point && pointAt < 0) pointAt = at;
      else break;
    }
    const wholeEnd = pointAt < 0 ? at : pointAt;
    if (wholeEnd === first || at === pointAt + 1 || (text[first] === zero && wholeEnd > first + 1)) return null;
    let power = left - (pointAt < 0 ? 0 : at - pointAt - 1);
    if ((text[at]! | 0x20) === letterE) {
      at++;
      const down = text[at] === minus;
      if (down || text[at] === plus) at++;
      const from = at;
      let exponent = 0;
      for (; text[at]! >= zero && text[at]! <= nine; at++) exponent = Math.min(9999, exponent * 10 + (text[at]! - zero));
      if (at === from) return null;
      power += down ? -exponent : exponent;
    }
    // Exact while digits and power of ten are; else good for a float when both ends of the doubt round to the same one.
    const digits = used > firstDigits ? high * tens[used - firstDigits]! + low : high;
    let value = Number.NaN;
    if (power === 0 && left === 0) value = digits;
    else if (left === 0 && power >= -22 && power <= 22) value = scaled(digits, power);
    else if (single && power >= -44 && power <= 22) {
      const rough = scaled(digits, power);
      const lowEnd = Math.fround(rough * (1 - slack));
      if (lowEnd === Math.fround(rough * (1 + slack))) value = lowEnd;
    }
    if (Number.isNaN(value)) value = Math.abs(Number(text.toString("latin1", begin, at)));
    if (negative) value = -value;
    numbers[k] = value;
    if (whole && numbers[k] !== value) return null;
    at = skipSpace(text, at);
    if (text[at++] !== (k + 1 < count ? comma : closing)) return null;
  }
  return numbers;
}
