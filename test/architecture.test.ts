/** The direction of the house: imports point to lower rooms only, and only at a room's face. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** Rooms by storey, lowest first. Rooms of one storey do not know each other. */
const storeys: readonly (readonly string[])[] = [
  ["base"],
  ["stats", "tensor", "host"],
  ["workload", "catalog"],
  ["cost"],
  ["estimate", "compat", "artifact"],
  ["data", "evidence", "load", "serving", "build", "truth"],
  ["bench"],
  ["decide"],
  ["deploy", "gateway"],
  ["rollout"],
  ["report"],
  ["store"],
  ["server"],
  ["cli"],
];
const browserRooms = new Set(["base", "stats", "tensor", "workload", "catalog", "cost", "estimate"]);
const storeyOf = new Map(storeys.flatMap((rooms, storey) => rooms.map((room) => [room, storey] as const)));

const src = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => relative(src, join(entry.parentPath, entry.name)).split("\\").join("/"));

interface Import {
  file: string;
  room: string;
  target: string;
}
const imports: Import[] = files
  .filter((file) => file.includes("/") && !file.endsWith(".test.ts"))
  .flatMap((file) =>
    [...readFileSync(join(src, file), "utf8").matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => ({
      file,
      room: file.split("/")[0]!,
      target: match[1]!,
    })),
  );

const roomImports = imports
  .filter(({ target }) => target.startsWith("."))
  .map(({ file, room, target }) => ({ file, room, path: join(file, "..", target).split("\\").join("/") }))
  .map((one) => ({ ...one, targetRoom: one.path.split("/")[0]! }))
  .filter(({ room, targetRoom }) => room !== targetRoom);

describe("the house", () => {
  it("has only rooms that stand on a storey", () => {
    expect(
      [...new Set(files.filter((file) => file.includes("/")).map((file) => file.split("/")[0]!))].filter((room) => !storeyOf.has(room)),
    ).toEqual([]);
  });

  it("imports downwards only", () => {
    const upward = roomImports.filter(({ room, targetRoom }) => !(storeyOf.get(targetRoom)! < storeyOf.get(room)!));
    expect(upward.map(({ file, path }) => `${file} → ${path}`)).toEqual([]);
  });

  it("enters a room by its face only", () => {
    const behind = roomImports.filter(
      ({ path, targetRoom }) => path !== `${targetRoom}/index.ts` && !/^build\/[^/]+\/index\.ts$/.test(path),
    );
    expect(behind.map(({ file, path }) => `${file} → ${path}`)).toEqual([]);
  });

  it("keeps node modules out of the rooms that run in a browser", () => {
    expect(
      imports
        .filter(({ room, target }) => browserRooms.has(room) && target.startsWith("node:"))
        .map(({ file, target }) => `${file} → ${target}`),
    ).toEqual([]);
  });

  it("opens every file with a paragraph that says what it is", () => {
    const silent = files.filter(
      (file) => !/(index|\.test)\.ts$/.test(file) && !/^(#!.*\n)?\/\*\*/.test(readFileSync(join(src, file), "utf8")),
    );
    expect(silent).toEqual([]);
  });
});
