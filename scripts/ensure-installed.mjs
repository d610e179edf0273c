// Installs from the lock file what is missing, and nothing when all is there.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const root = fileURLToPath(new URL("..", import.meta.url));
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Assay needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}
const lock = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const stamp = join(root, "node_modules", ".assay-lock");
const fresh = existsSync(stamp) && readFileSync(stamp, "utf8") === lock;
if (!fresh) {
  console.error("Installing dependencies from package-lock.json …");
  execFileSync(process.platform === "win32" ? "npm.cmd" : "npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: "skip" },
    shell: process.platform === "win32",
  });
  writeFileSync(stamp, lock);
}
