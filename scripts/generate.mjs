// Writes every generated file; with --check it only says which ones are stale, and fails.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { generated } = await import("../dist/generated.js");
const check = process.argv.includes("--check");
const stale = [];
for (const [path, text] of Object.entries(generated())) {
  const file = join(root, path);
  let now = "";
  try {
    now = readFileSync(file, "utf8");
  } catch (fault) {
    if (fault.code !== "ENOENT") throw fault;
  }
  if (now === text) continue;
  stale.push(path);
  if (check) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
if (check && stale.length > 0) {
  console.error(`Stale generated files: ${stale.join(", ")}. Run: npm run generate`);
  process.exit(1);
}
