/**
 * Resizing as Pillow does it, bit for bit: models are mostly trained on images that it resized, and
 * other libraries place pixel centres or widths of filters otherwise. Separable, first along the rows,
 * with weights in 22 binary places and bytes in between (Pillow 12.3, `Resample.c`; Pillow 13 goes along the
 * columns first where the height shrinks most, which moves some bytes by one).
 */

export interface Picture {
  width: number;
  height: number;
  /** Rows from the top, red, green and blue of each pixel. */
  rgb: Uint8Array;
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** Weight by distance, and where it ends. */
const filters = {
  bilinear: { support: 1, weight: (x: number) => Math.max(0, 1 - Math.abs(x)) },
  bicubic: {
    support: 2,
    weight: (x: number) => {
      const d = Math.abs(x);
      if (d < 1) return (1.5 * d - 2.5) * d * d + 1;
      return d < 2 ? ((-0.5 * d + 2.5) * d - 4) * d + 2 : 0;
    },
  },
  lanczos: { support: 3, weight: (x: number) => (x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0) },
} as const;
export type Filter = keyof typeof filters | "nearest";

const places = 22;

interface Taps {
  from: number;
  weights: Int32Array;
}

/** What each place of the result takes from the line. */
function tapsOf(length: number, wanted: number, { support, weight }: (typeof filters)[keyof typeof filters]): Taps[] {
  const scale = length / wanted;
  const widened = Math.max(1, scale);
  const reach = support * widened;
  return Array.from({ length: wanted }, (_, at) => {
    const centre = (at + 0.5) * scale;
    const from = Math.max(0, Math.trunc(centre - reach + 0.5));
    const to = Math.min(length, Math.trunc(centre + reach + 0.5));
    const raw = Array.from({ length: to - from }, (__, k) => weight((k + from - centre + 0.5) * (1 / widened)));
    const sum = raw.reduce((total, one) => total + one, 0);
    return {
      from,
      weights: Int32Array.from(raw, (one) => {
        const value = (sum === 0 ? one : one / sum) * 2 ** places;
        return Math.trunc(value + (value < 0 ? -0.5 : 0.5));
      }),
    };
  });
}

/** One direction: `lines` lines of pixels, `along` bytes from one to the next pixel of a line, `across` from line to line. */
function pass(
  from: Uint8Array,
  to: Uint8Array,
  taps: readonly Taps[],
  lines: number,
  steps: { along: number; across: number; toAlong: number; toAcross: number },
): void {
  const { along, across, toAlong, toAcross } = steps;
  for (let line = 0; line < lines; line++) {
    for (const [at, { from: first, weights }] of taps.entries()) {
      for (let c = 0; c < 3; c++) {
        let sum = 1 << (places - 1);
        for (let k = 0; k < weights.length; k++) sum += from[line * across + (first + k) * along + c]! * weights[k]!;
        to[line * toAcross + at * toAlong + c] = Math.min(255, Math.max(0, sum >> places));
      }
    }
  }
}

/** The pixel each place takes; added up step by step as Pillow does, which decides where a centre falls between two pixels. */
function nearestOf(length: number, wanted: number): number[] {
  const step = length / wanted;
  let centre = step * 0.5;
  return Array.from({ length: wanted }, () => {
    const at = Math.trunc(centre);
    centre += step;
    return at;
  });
}

function nearest({ width, height, rgb }: Picture, wide: number, high: number): Uint8Array {
  const out = new Uint8Array(wide * high * 3);
  const columns = nearestOf(width, wide);
  for (const [y, row] of nearestOf(height, high).entries()) {
    for (const [x, column] of columns.entries()) {
      const pixel = (row * width + column) * 3;
      for (let c = 0; c < 3; c++) out[(y * wide + x) * 3 + c] = rgb[pixel + c]!;
    }
  }
  return out;
}

/** The picture in that size. */
export function resize(picture: Picture, width: number, height: number, filter: Filter): Picture {
  if (filter === "nearest") return { width, height, rgb: nearest(picture, width, height) };
  let { rgb } = picture;
  if (width !== picture.width) {
    const out = new Uint8Array(width * picture.height * 3);
    const taps = tapsOf(picture.width, width, filters[filter]);
    pass(rgb, out, taps, picture.height, { along: 3, across: picture.width * 3, toAlong: 3, toAcross: width * 3 });
    rgb = out;
  }
  if (height !== picture.height) {
    const out = new Uint8Array(width * height * 3);
    const taps = tapsOf(picture.height, height, filters[filter]);
    pass(rgb, out, taps, width, { along: width * 3, across: 3, toAlong: width * 3, toAcross: 3 });
    rgb = out;
  }
  return { width, height, rgb };
}

/** A part of the picture. */
export function crop({ width, rgb }: Picture, left: number, top: number, wide: number, high: number): Picture {
  const out = new Uint8Array(wide * high * 3);
  for (let y = 0; y < high; y++) {
    const at = ((top + y) * width + left) * 3;
    out.set(rgb.subarray(at, at + wide * 3), y * wide * 3);
  }
  return { width: wide, height: high, rgb: out };
}
