/** `assay init`: a workload.yaml to edit, filled from the model and the data. */
import { existsSync } from "node:fs";
import { basename, dirname, extname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { readModelHeader } from "../artifact/index.ts";
import { AssayError } from "../base/index.ts";
import { draftWorkload } from "../data/index.ts";
import { describeMachine, writeWhole } from "../host/index.ts";

const clean = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 63) || "model";

export async function runInit(
  models: readonly string[],
  { data, out, force }: { data: string; out: string; force?: boolean },
): Promise<number> {
  const path = resolve(out);
  if (existsSync(path) && !force) throw new AssayError("OUT_EXISTS", `${out} exists; --force replaces it`);
  const headers = [];
  for (const model of models)
    headers.push({ id: clean(basename(model, extname(model))), path: resolve(model), header: await readModelHeader(resolve(model)) });
  const schema = relative(dirname(path), fileURLToPath(new URL("../../schema/workload.v1.json", import.meta.url)))
    .split(sep)
    .join("/");
  const text = await draftWorkload(headers, resolve(data), {
    folder: dirname(path),
    cores: describeMachine().cores,
    name: clean(basename(models[0]!, extname(models[0]!))),
    schema,
  });
  writeWhole(path, text);
  process.stdout.write(`Wrote ${out}. Set your targets in it, then: assay decide ${out}\n`);
  return 0;
}
