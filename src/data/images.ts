/**
 * Images as columns: a folder of them or a list of paths, decoded and resized once, kept as bytes.
 * What depends on the model (colour order, layout, mean, deviation) is done when an item is made.
 */
import { readdirSync } from "node:fs";
import { dirname, extname, join, relative, sep } from "node:path";
import { AssayError } from "../base/index.ts";
import type { Workload } from "../workload/index.ts";
import type { Columns } from "./columns.ts";
import { crop, resize, type Picture } from "./resample.ts";

export type ImagePlan = NonNullable<Workload["data"]["inputs"][string]["image"]>;

const endings = [".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".gif", ".bmp"];
export const isImagePath = (path: string): boolean => endings.includes(extname(path).toLowerCase());

/** Every image below a folder, by path: its `image` (path), `folder` (the name of its folder) and `part` (the outermost folder). */
export function readImageFolder(folder: string): Columns {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isImagePath(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort((a, b) => (a < b ? -1 : 1));
  if (paths.length === 0) throw new AssayError("DATA_UNREADABLE", `${folder} holds no image; known endings are ${endings.join(", ")}`);
  const texts = (of: (parts: string[]) => string) => ({ kind: "texts" as const, data: paths.map((path) => of(path.split("/"))) });
  return {
    count: paths.length,
    columns: new Map([
      ["image", { kind: "texts", data: paths }],
      ["folder", texts((parts) => parts.at(-2) ?? "")],
      ["part", texts((parts) => (parts.length > 1 ? parts[0]! : ""))],
    ]),
  };
}

/** Decoded pixels that one image may have. */
const mostPixels = 100_000_000;

/** Sizes to resize to, and what is kept of the result, counted from its top left. */
interface Resizing {
  width: number;
  height: number;
  keep: { left: number; top: number; width: number; height: number } | null;
}

/** @param widest the largest width where the width may differ from item to item */
export function resizingOf({ width, height }: { width: number; height: number }, plan: ImagePlan, widest: number | null): Resizing {
  const high = plan.height;
  if (widest !== null) return { width: Math.min(widest, Math.max(1, Math.ceil((width * high) / height))), height: high, keep: null };
  const wide = plan.width!;
  if (plan.fit === "stretch") return { width: wide, height: high, keep: null };
  if (plan.fit === "contain") {
    const scale = Math.min(wide / width, high / height);
    const side = (length: number, most: number): number => Math.min(most, Math.max(1, Math.round(length * scale)));
    return { width: side(width, wide), height: side(height, high), keep: null };
  }
  const scale = plan.shortSide === undefined ? Math.max(wide / width, high / height) : plan.shortSide / Math.min(width, height);
  const side = (length: number, least: number): number => Math.max(least, Math.floor(length * scale + 1e-9));
  const [w, h] = [side(width, wide), side(height, high)];
  return { width: w, height: h, keep: { left: Math.round((w - wide) / 2), top: Math.round((h - high) / 2), width: wide, height: high } };
}

/** Decoded at a time: the library spreads them over its threads. */
const atOnce = 16;

/**
 * Decodes and resizes the images of those items. Transparency is dropped, orientation tags are not applied.
 * Throws DATA_UNREADABLE, naming the file.
 * @param paths one an item, relative to the folder
 * @param open the path to read, or a fault
 */
export async function decodeImages(
  paths: readonly string[],
  items: readonly number[],
  { plan, widest, open }: { plan: ImagePlan; widest: number | null; open: (path: string) => string },
): Promise<ReadonlyMap<number, Picture>> {
  const { default: sharp } = await import("sharp");
  const decode = async (item: number): Promise<[number, Picture]> => {
    const path = open(paths[item]!);
    try {
      const decoded = sharp(path, { limitInputPixels: mostPixels, failOn: "error", autoOrient: false }).toColourspace("srgb").removeAlpha();
      const { data, info } = await decoded.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
      if (info.channels !== 3) throw new Error(`it has ${info.channels} channels after decoding`);
      const whole = { width: info.width, height: info.height, rgb: new Uint8Array(data) };
      const { width, height, keep } = resizingOf(whole, plan, widest);
      const resized = resize(whole, width, height, plan.filter);
      return [item, keep ? crop(resized, keep.left, keep.top, keep.width, keep.height) : resized];
    } catch (cause) {
      throw new AssayError("DATA_UNREADABLE", `${path} (item ${item + 1}): it is no image that can be read: ${(cause as Error).message}`, {
        cause,
      });
    }
  };
  const found = new Map<number, Picture>();
  for (let from = 0; from < items.length; from += atOnce)
    for (const [item, image] of await Promise.all(items.slice(from, from + atOnce).map(decode))) found.set(item, image);
  return found;
}

/** The folder that the paths of a data file are relative to. */
export const imageFolderOf = (dataPath: string, isFolder: boolean): string => (isFolder ? dataPath : dirname(dataPath));

/** Shape that the model gets, without the batch. */
export const imageShape = (height: number, width: number, { colour, layout }: ImagePlan): number[] => {
  const channels = colour === "gray" ? 1 : 3;
  return layout === "nchw" ? [channels, height, width] : [height, width, channels];
};

/** ITU-R 601 luma in whole numbers, as Pillow's "L" has it. */
const luma = (r: number, g: number, b: number): number => (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16;

/** Writes the pixels into a larger or equal shape, from its top left; the rest keeps what it holds. */
export function writePixels(
  { width, height, rgb }: Picture,
  plan: ImagePlan,
  shape: readonly number[],
  write: (at: number, value: number, channel: number) => void,
): void {
  const planar = plan.layout === "nchw";
  const [channels, rows, columns] = planar ? shape : [shape[2]!, shape[0]!, shape[1]!];
  const order = plan.colour === "bgr" ? [2, 1, 0] : [0, 1, 2];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const pixel = (y * width + x) * 3;
      for (let c = 0; c < channels!; c++) {
        const value = plan.colour === "gray" ? luma(rgb[pixel]!, rgb[pixel + 1]!, rgb[pixel + 2]!) : rgb[pixel + order[c]!]!;
        write(planar ? (c * rows! + y) * columns! + x : (y * columns! + x) * channels! + c, value, c);
      }
    }
  }
}
