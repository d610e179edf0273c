// Compiles src/ to dist/ when a source is newer than the last build.
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync, statSync, writeFileSync, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "dist", ".built");
const newest = (folder) =>
  readdirSync(folder, { withFileTypes: true }).reduce((latest, entry) => {
    const path = join(folder, entry.name);
    return Math.max(latest, statSync(path).mtimeMs, entry.isDirectory() ? newest(path) : 0);
  }, 0);
const sources = Math.max(newest(join(root, "src")), statSync(join(root, "tsconfig.json")).mtimeMs);
if (!existsSync(stamp) || statSync(stamp).mtimeMs < sources) {
  const started = new Date();
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  try {
    execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.json")], { stdio: ["ignore", 2, 2] });
  } catch {
    console.error("The build failed; the errors are above.");
    process.exit(1);
  }
  writeFileSync(stamp, started.toISOString());
}
