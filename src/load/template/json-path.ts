/** The part of JSONPath (RFC 9535) that names one place: members by name, elements by index, from the end too. */
import { AssayError } from "../../base/index.ts";

const step = /\.([A-Za-z_][\w-]*)|\['([^']*)'\]|\["([^"]*)"\]|\[(-?\d+)\]/y;

/** Its steps. Throws USAGE where it is of another form. */
export function parsePath(path: string): (string | number)[] {
  const steps: (string | number)[] = [];
  step.lastIndex = 1;
  while (path.startsWith("$") && step.lastIndex < path.length) {
    const at = step.lastIndex;
    const match = step.exec(path);
    if (!match) throw new AssayError("USAGE", `${path}: at character ${at + 1} a step such as .name, ['name'] or [0] is expected`);
    steps.push(match[4] === undefined ? (match[1] ?? match[2] ?? match[3])! : Number(match[4]));
  }
  if (!path.startsWith("$")) throw new AssayError("USAGE", `${path}: a path begins with $`);
  return steps;
}

const parsed = new Map<string, (string | number)[]>();

/** The value at that place; undefined = none is there. */
export function lookUp(value: unknown, path: string): unknown {
  let steps = parsed.get(path);
  if (!steps) parsed.set(path, (steps = parsePath(path)));
  let at: unknown = value;
  for (const one of steps) {
    if (at === null || typeof at !== "object") return undefined;
    if (typeof one === "number") at = Array.isArray(at) ? at.at(one) : undefined;
    else at = Array.isArray(at) || !Object.hasOwn(at, one) ? undefined : (at as Record<string, unknown>)[one];
  }
  return at;
}
