import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStore, readArtifact, realDisk, type Artifact, type ArtifactKeyFields, type Disk, type Store } from "./index.ts";

const home = mkdtempSync(join(tmpdir(), "assay-store-"));
afterAll(() => rmSync(home, { recursive: true }));
const newFolder = (): string => mkdtempSync(join(home, "one-"));
const limitBytes = 1_000_000;

const fields = (changes: { version?: string; perChannel?: boolean; digest?: string } = {}): ArtifactKeyFields => ({
  stack: { os: "linux", runtime: { name: "onnxruntime", version: changes.version ?? "1.30.0" } },
  builder: { route: "int8-static", perChannel: changes.perChannel ?? false },
  model: { digest: changes.digest ?? "aa" },
});

async function put(store: Store, content: string, key = fields()): Promise<Artifact> {
  const work = store.workFolder();
  writeFileSync(join(work, "model.onnx"), content);
  return store.put(work, key, { kind: "onnx", entry: "model.onnx", facts: { route: "int8-static" } });
}

describe("the artifact store", () => {
  it("finds under the same key what was put, and nothing after any field changed, naming the field", async () => {
    const store = openStore(newFolder(), { limitBytes });
    expect(await store.find(fields())).toEqual({ kind: "miss", reason: "nothing like it is stored", changed: [] });
    const artifact = await put(store, "some bytes");
    expect(await store.find(fields())).toEqual({ kind: "hit", artifact });
    expect(readFileSync(artifact.modelPath, "utf8")).toBe("some bytes");
    expect(await store.find(fields({ version: "1.31.0" }))).toMatchObject({ kind: "miss", changed: ["stack.runtime.version"] });
    expect(await store.find(fields({ perChannel: true }))).toMatchObject({ kind: "miss", changed: ["builder.perChannel"] });
    expect(await store.find({ ...fields(), builder: { route: "int8-static", perChannel: false, fresh: 1 } })).toMatchObject({
      changed: ["builder.fresh"],
    });
  });

  it("sets damaged bytes aside: one flipped bit, a cut file, a manifest with an unknown field", async () => {
    const harms: ((artifact: Artifact) => void)[] = [
      ({ modelPath }) => writeFileSync(modelPath, "somd bytes"),
      ({ modelPath }) => writeFileSync(modelPath, "some byt"),
      ({ folder }) => {
        const path = join(folder, "artifact.json");
        writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), later: true }));
      },
    ];
    for (const harm of harms) {
      const store = openStore(newFolder(), { limitBytes });
      harm(await put(store, "some bytes"));
      const found = await store.find(fields());
      expect(found).toMatchObject({ kind: "damaged", fault: { code: "ARTIFACT_INVALID" } });
      expect(readdirSync(join(store.folder, "damaged"))).toHaveLength(1);
      expect((await store.find(fields())).kind).toBe("miss");
      await put(store, "some bytes");
      expect((await store.find(fields())).kind).toBe("hit");
    }
  });

  it("evicts the least recently used first, never what is in use", async () => {
    const folder = newFolder();
    const old = openStore(folder, { limitBytes: 25 });
    const [a, b] = [await put(old, "0123456789", fields({ digest: "a" })), await put(old, "abcdefghij", fields({ digest: "b" }))];
    old.close();
    utimesSync(join(a.folder, "artifact.json"), 100, 100);
    utimesSync(join(b.folder, "artifact.json"), 200, 200);
    const user = openStore(folder, { limitBytes: 25 });
    await user.find(fields({ digest: "a" }));
    utimesSync(join(a.folder, "artifact.json"), 100, 100);
    const other = openStore(folder, { limitBytes: 25 });
    await put(other, "ABCDEFGHIJ", fields({ digest: "c" }));
    expect(existsSync(a.folder)).toBe(true);
    expect(existsSync(b.folder)).toBe(false);
    expect((await other.find(fields({ digest: "b" }))).kind).toBe("miss");
  });

  it("meets a full disk at any write with DISK_FULL, and stays sound", async () => {
    let failures = 0;
    for (let failing = 0; failing < 40; failing++) {
      let call = 0;
      const maybe = <A extends string[]>(work: (...args: A) => void) => {
        return (...args: A): void => {
          if (call++ === failing) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
          work(...args);
        };
      };
      const disk: Disk = {
        makeFolder: maybe(realDisk.makeFolder),
        write: maybe(realDisk.write),
        flush: maybe(realDisk.flush),
        rename: maybe(realDisk.rename),
        remove: realDisk.remove,
      };
      const folder = newFolder();
      const outcome = await Promise.resolve()
        .then(() => put(openStore(folder, { limitBytes, disk }), "some bytes"))
        .then(
          () => "put",
          (fault: { code?: string }) => fault.code,
        );
      if (outcome === "put") break;
      failures++;
      expect(outcome).toBe("DISK_FULL");
      const after = openStore(folder, { limitBytes });
      const found = await after.find(fields());
      if (found.kind === "hit") expect(readFileSync(found.artifact.modelPath, "utf8")).toBe("some bytes");
      else expect(found.kind).toBe("miss");
      for (const digest of readdirSync(join(folder, "artifacts"))) {
        expect((await readArtifact(join(folder, "artifacts", digest), digest)).digest).toBe(digest);
      }
      await put(after, "some bytes");
      expect((await after.find(fields())).kind).toBe("hit");
    }
    expect(failures).toBeGreaterThanOrEqual(10);
  });

  it("clears what a process that is gone left behind", () => {
    const folder = newFolder();
    openStore(folder, { limitBytes }).close();
    const left = join(folder, "work", "999999999-1-left");
    realDisk.makeFolder(left);
    writeFileSync(join(folder, "lock"), "999999999-1");
    openStore(folder, { limitBytes });
    expect(existsSync(left)).toBe(false);
  });

  it("breaks the lock of a process that is gone", async () => {
    const folder = newFolder();
    const store = openStore(folder, { limitBytes });
    writeFileSync(join(folder, "lock"), "999999999-1");
    await put(store, "some bytes");
    expect((await store.find(fields())).kind).toBe("hit");
  });
});
