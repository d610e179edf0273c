/** `artifact.json`: what an artifact holds, file by file, under one digest that covers every field. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { AssayError, digestJson, type Json } from "../base/index.ts";
import { digestFile } from "./onnx-file.ts";

const FileEntry = z.strictObject({
  path: z.string().describe("Path within the artifact, with /"),
  bytes: z.int().nonnegative().describe("Size in bytes"),
  sha256: z.string().length(64).describe("Hex SHA-256 of the bytes"),
});

export const ArtifactManifest = z
  .strictObject({
    schema: z.literal(1).describe("Version of this file's form"),
    kind: z.string().describe("What reads the artifact, such as onnx"),
    entry: z.string().describe("The file to load, a path within the artifact"),
    files: z.array(FileEntry).describe("Every file, in order of path"),
    facts: z.json().describe("What the build worker says about the artifact: route, inputs, outputs"),
  })
  .meta({ id: "ArtifactManifest", title: "artifact.json" });
export type ArtifactManifest = z.infer<typeof ArtifactManifest>;

export interface Artifact {
  /** Hex SHA-256 of the manifest's canonical JSON, which holds every file's own. Gates and rollback bind to it. */
  digest: string;
  folder: string;
  /** The file to load. */
  modelPath: string;
  /** Bytes of all files. */
  bytes: number;
  kind: string;
  facts: Json;
}

export const manifestName = "artifact.json";

/** The manifest of a folder as it stands, files in order of path; nothing is written. */
export async function describeFolder(folder: string, what: { kind: string; entry: string; facts: Json }): Promise<ArtifactManifest> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== manifestName)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
  const files = [];
  for (const path of paths) files.push({ path, bytes: statSync(join(folder, path)).size, sha256: await digestFile(join(folder, path)) });
  return { schema: 1, kind: what.kind, entry: what.entry, files, facts: what.facts as ArtifactManifest["facts"] };
}

export const digestOfManifest = (manifest: ArtifactManifest): string => digestJson(manifest as Json);

/** The artifact of a manifest in a folder. */
export const artifactOf = (folder: string, manifest: ArtifactManifest): Artifact => ({
  digest: digestOfManifest(manifest),
  folder,
  modelPath: join(folder, manifest.entry),
  bytes: manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
  kind: manifest.kind,
  facts: manifest.facts as Json,
});

const invalid = (folder: string, what: string, cause?: unknown): AssayError =>
  new AssayError("ARTIFACT_INVALID", `${folder}: ${what}`, cause === undefined ? {} : { cause });

/**
 * Reads an artifact folder and checks every byte against its digests.
 * @param expectedDigest the digest it must have; left out, whatever its manifest gives
 * Throws ARTIFACT_INVALID, naming the file, what was found and what was expected.
 */
export async function readArtifact(folder: string, expectedDigest?: string): Promise<Artifact> {
  let manifest: ArtifactManifest;
  try {
    manifest = ArtifactManifest.parse(JSON.parse(readFileSync(join(folder, manifestName), "utf8")));
  } catch (cause) {
    throw invalid(folder, `${manifestName} cannot be read; expected the manifest of an artifact`, cause);
  }
  const artifact = artifactOf(folder, manifest);
  if (expectedDigest !== undefined && artifact.digest !== expectedDigest) {
    throw invalid(folder, `${manifestName} has digest ${artifact.digest}; expected ${expectedDigest}`);
  }
  if (!manifest.files.some(({ path }) => path === manifest.entry))
    throw invalid(folder, `it does not list ${manifest.entry}, its own entry`);
  for (const { path, bytes, sha256 } of manifest.files) {
    const size = statSync(join(folder, path), { throwIfNoEntry: false })?.size;
    if (size !== bytes)
      throw invalid(folder, `${path} ${size === undefined ? "is missing" : `has ${size} bytes`}; expected ${bytes} bytes`);
    const found = await digestFile(join(folder, path));
    if (found !== sha256) throw invalid(folder, `${path} has SHA-256 ${found}; expected ${sha256}`);
  }
  return artifact;
}
