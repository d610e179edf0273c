// Everything a commit must pass, in the order in which faults are cheapest to find.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const steps = [
  ["format", "oxfmt", "--check"],
  ["lint", "oxlint", "--type-aware", "--deny-warnings"],
  ["types", "tsc", "-p", "tsconfig.test.json"],
  ["build", "node", "scripts/build.mjs"],
  ["dead code", "knip"],
  ["generated files", "node", "scripts/generate.mjs", "--check"],
  ["unit tests", "vitest", "run", "--project", "unit"],
];
await import("./ensure-installed.mjs");
const path = `${root}node_modules/.bin:${process.env.PATH}`;
for (const [name, command, ...args] of steps) {
  const started = Date.now();
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, PATH: path } });
  if (status !== 0) {
    console.error(`check: ${name} failed`);
    process.exit(1);
  }
  console.error(`check: ${name} ok (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}
