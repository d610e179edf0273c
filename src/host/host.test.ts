import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { describeMachine, entryUrl, hostTicks, usageOf, writeWhole } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-host-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("whole files", () => {
  it("replace what was there and leave no partial file", () => {
    const path = join(folder, "deep", "a.json");
    writeWhole(path, "one");
    writeWhole(path, "two");
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(readdirSync(join(folder, "deep"))).toEqual(["a.json"]);
  });
  it.runIf(existsSync("/dev/full"))("keep the old file when the disk is full", () => {
    const path = join(folder, "full.json");
    writeWhole(path, "old");
    symlinkSync("/dev/full", `${path}.${process.pid}.partial`);
    expect(() => writeWhole(path, "new")).toThrow(/ENOSPC/);
    expect(readFileSync(path, "utf8")).toBe("old");
  });
});

describe("usage", () => {
  it.runIf(existsSync("/proc/self/stat"))("sees the CPU time that a child spends", async () => {
    const child = spawn(process.execPath, ["-e", "const end = Date.now() + 400; while (Date.now() < end); setTimeout(() => {}, 5000)"]);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const used = usageOf([child.pid!]);
    child.kill("SIGKILL");
    expect(used!.cpuSeconds).toBeGreaterThan(0.2);
    expect(used!.peakBytes).toBeGreaterThan(10e6);
  });
  it("is null for a process that is not there", () => {
    expect(usageOf([2 ** 22 + 1])).toBeNull();
  });
  it.runIf(existsSync("/proc/stat"))("reads the machine's ticks", () => {
    expect(hostTicks()!.total).toBeGreaterThan(0);
  });
});

describe("the machine", () => {
  it("is described without names or addresses", () => {
    const machine = describeMachine();
    expect(machine.cores).toBeGreaterThan(0);
    expect(machine.memoryBytes).toBeGreaterThan(1e8);
    expect([...machine.isa].sort()).toEqual([...machine.isa]);
  });
});

describe("entries", () => {
  it("start from compiled code, also when the caller is source", () => {
    expect(entryUrl("file:///home/src/assay/src/load/run.ts", "./sender.entry.js").pathname).toBe(
      "/home/src/assay/dist/load/sender.entry.js",
    );
    expect(entryUrl("file:///assay/dist/load/run.js", "./sender.entry.js").pathname).toBe("/assay/dist/load/sender.entry.js");
  });
});
