/**
 * The artifact store: a folder shared by every run on a machine. `artifacts/<digest>/` holds the
 * bytes, `keys/<key>.json` says which artifact a key gave, `work/` what is being built, `damaged/`
 * what failed its check, `leases/` who uses what. An artifact appears by one rename, so another
 * process sees all of it or nothing.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { AssayError, asAssayError, canonicalJson, type Json } from "../base/index.ts";
import { realDisk, type Disk } from "./disk.ts";
import { artifactKey, changedFields, type ArtifactKeyFields } from "./key.ts";
import { ArtifactManifest, artifactOf, describeFolder, digestOfManifest, manifestName, readArtifact, type Artifact } from "./manifest.ts";
import { isAlive, leasedDigests, openLeases, ownIdentity, withLock } from "./occupancy.ts";

const KeyFile = z.strictObject({
  schema: z.literal(1),
  fields: z.strictObject({ stack: z.json(), builder: z.json(), model: z.json() }),
  artifact: z.string().length(64),
});

export type Found =
  | { kind: "hit"; artifact: Artifact }
  | {
      kind: "miss";
      /** For people: which field changed against the nearest stored artifact, or that there is none. */
      reason: string;
      /** Dotted paths of the changed fields. */
      changed: readonly string[];
    }
  /** The stored bytes failed their check and were set aside; the caller builds anew. */
  | { kind: "damaged"; fault: AssayError };

export interface Store {
  readonly folder: string;
  /** The artifact of a key, verified byte by byte and leased to this handle until `close`. */
  find(fields: ArtifactKeyFields): Promise<Found>;
  /** A new empty folder on the store's file system, for a build to write to. */
  workFolder(): string;
  /** Publishes a work folder under a key; throws DISK_FULL and leaves the store as it was. The work folder is gone afterwards. */
  put(workFolder: string, fields: ArtifactKeyFields, what: { kind: string; entry: string; facts: Json }): Promise<Artifact>;
  /** Moves an artifact that passed its check but failed in use to `damaged/`. */
  setAside(artifact: Artifact, why: string): Promise<AssayError>;
  /** Removes a work folder that came to nothing. */
  discard(workFolder: string): void;
  /** Ends this handle's leases. Safe to call twice. */
  close(): void;
}

const damagedKept = 4;

/**
 * Opens the store in a folder, making it when absent and clearing what dead processes left.
 * @param limitBytes most bytes of artifacts; the least recently used go first, those in use never
 */
export function openStore(folder: string, { limitBytes, disk = realDisk }: { limitBytes: number; disk?: Disk }): Store {
  const place = (...parts: string[]): string => join(folder, ...parts);
  const handle = `${ownIdentity()}-${randomUUID().slice(0, 8)}`;
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (fault) {
      throw asAssayError(fault);
    }
  };
  guarded(() => ["artifacts", "keys", "work", "damaged"].forEach((name) => disk.makeFolder(place(name))));
  const leases = guarded(() => openLeases(place("leases"), disk, handle));
  const locked = async <T>(work: () => T): Promise<T> => {
    try {
      return await withLock(folder, work);
    } catch (fault) {
      throw asAssayError(fault);
    }
  };
  for (const name of readdirSync(place("work"))) if (!isAlive(name)) disk.remove(place("work", name));

  const readKey = (key: string): z.infer<typeof KeyFile> | undefined => {
    try {
      const parsed = KeyFile.parse(JSON.parse(readFileSync(place("keys", `${key}.json`), "utf8")));
      return artifactKey(parsed.fields as ArtifactKeyFields) === key ? parsed : undefined;
    } catch {
      return undefined;
    }
  };
  const keys = (): string[] => readdirSync(place("keys")).flatMap((name) => (/^[0-9a-f]{64}\.json$/.test(name) ? [name.slice(0, 64)] : []));

  const nearestMiss = (fields: ArtifactKeyFields): Found => {
    const candidates = keys().flatMap((key) => {
      const stored = readKey(key);
      return stored ? [changedFields(stored.fields as unknown as Json, fields as unknown as Json)] : [];
    });
    const sorted = candidates.filter((changed) => changed.length > 0).sort((a, b) => a.length - b.length);
    const [nearest] = sorted;
    return nearest
      ? { kind: "miss", reason: `changed: ${nearest.join(", ")}`, changed: nearest }
      : { kind: "miss", reason: "nothing like it is stored", changed: [] };
  };

  /** Call under the lock. */
  const moveToDamaged = (digest: string): void => {
    if (!existsSync(place("artifacts", digest))) return;
    disk.rename(place("artifacts", digest), place("damaged", `${digest.slice(0, 12)}-${randomUUID().slice(0, 8)}`));
    const old = readdirSync(place("damaged"))
      .map((name) => ({ name, ms: statSync(place("damaged", name)).ctimeMs }))
      .sort((a, b) => b.ms - a.ms)
      .slice(damagedKept);
    for (const { name } of old) disk.remove(place("damaged", name));
  };

  /** Call under the lock: removes the least recently used until `extraBytes` more fit. */
  const evict = (extraBytes: number, spared: string): void => {
    const leased = leasedDigests(place("leases"));
    const stored = readdirSync(place("artifacts")).map((digest) => {
      const stat = statSync(place("artifacts", digest, manifestName), { throwIfNoEntry: false });
      let bytes = 0;
      try {
        const manifest = ArtifactManifest.parse(JSON.parse(readFileSync(place("artifacts", digest, manifestName), "utf8")));
        bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
      } catch {
        // Its own check reports it when it is asked for; here it is only old and small.
      }
      return { digest, bytes, usedMs: stat?.mtimeMs ?? 0 };
    });
    let total = stored.reduce((sum, { bytes }) => sum + bytes, extraBytes);
    const evictable = stored.filter(({ digest }) => digest !== spared && !leased.has(digest)).sort((a, b) => a.usedMs - b.usedMs);
    for (const { digest, bytes } of evictable) {
      if (total <= limitBytes) break;
      for (const key of keys()) if (readKey(key)?.artifact === digest) disk.remove(place("keys", `${key}.json`));
      disk.remove(place("artifacts", digest));
      total -= bytes;
    }
  };

  return {
    folder,
    workFolder: () =>
      guarded(() => {
        const path = place("work", `${ownIdentity()}-${randomUUID()}`);
        disk.makeFolder(path);
        return path;
      }),
    discard: (workFolder) => disk.remove(workFolder),
    async find(fields) {
      const key = artifactKey(fields);
      const digest = await locked(() => {
        const stored = readKey(key);
        if (!stored || !existsSync(place("artifacts", stored.artifact))) return undefined;
        leases.take(stored.artifact);
        return stored.artifact;
      });
      if (digest === undefined) return nearestMiss(fields);
      try {
        const artifact = await readArtifact(place("artifacts", digest), digest);
        const now = new Date();
        utimesSync(join(artifact.folder, manifestName), now, now);
        return { kind: "hit", artifact };
      } catch (fault) {
        const damage = asAssayError(fault);
        await locked(() => moveToDamaged(digest));
        return { kind: "damaged", fault: damage };
      }
    },
    async put(workFolder, fields, what) {
      try {
        const manifest = await describeFolder(workFolder, what);
        const digest = digestOfManifest(manifest);
        for (const { path } of manifest.files) disk.flush(join(workFolder, path));
        disk.write(join(workFolder, manifestName), JSON.stringify(manifest, undefined, 2));
        const target = place("artifacts", digest);
        const sound = existsSync(target) && (await readArtifact(target, digest).then(Boolean, () => false));
        return await locked(() => {
          leases.take(digest);
          if (!sound || !existsSync(target)) {
            moveToDamaged(digest);
            const artifact = artifactOf(target, manifest);
            evict(artifact.bytes, digest);
            disk.rename(workFolder, target);
          }
          const keyFile = { schema: 1, fields: fields as unknown as Json, artifact: digest };
          disk.write(place("keys", `${artifactKey(fields)}.json`), canonicalJson(keyFile));
          return artifactOf(target, manifest);
        });
      } catch (fault) {
        throw asAssayError(fault);
      } finally {
        disk.remove(workFolder);
      }
    },
    async setAside(artifact, why) {
      await locked(() => moveToDamaged(artifact.digest));
      return new AssayError("ARTIFACT_INVALID", `${artifact.folder}: ${why}`);
    },
    close: () => leases.release(),
  };
}
