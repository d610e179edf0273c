// The main job on a fresh clone: install what is missing, build, decide the bundled digits workload.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

await import("./ensure-installed.mjs");
await import("./build.mjs");
const root = fileURLToPath(new URL("..", import.meta.url));
const child = spawn(process.execPath, ["dist/main.js", "decide", "examples/digits/workload.yaml", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
// 3 (nothing meets the targets) and 4 (cannot tell yet) are sound verdicts: the main job did its work.
child.on("exit", (code, signal) => process.exit(signal ? 130 : code === 3 || code === 4 ? 0 : (code ?? 1)));
