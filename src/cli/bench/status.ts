/** The exit status of a run against endpoints, and what --fail-on makes of it. */
import { AssayError } from "../../base/index.ts";
import type { EndpointRun } from "../../bench/index.ts";

const kinds = ["missed", "cannot-tell", "invalid"] as const;
type FailKind = (typeof kinds)[number];
const exitOf: Record<FailKind, number> = { missed: 3, "cannot-tell": 4, invalid: 4 };
/** The exit status for what --fail-on names. */
const failedOn = 5;

/** The kinds that --fail-on names; null = not given. Throws USAGE. */
export function endpointFailKinds(text: string | undefined): ReadonlySet<FailKind> | null {
  if (text === undefined) return null;
  return new Set(
    text.split(",").map((part) => {
      const kind = kinds.find((one) => one === part.trim());
      if (!kind) throw new AssayError("USAGE", `--fail-on "${part.trim()}": of a run against endpoints it takes ${kinds.join(", ")}`);
      return kind;
    }),
  );
}

/** Why the run is no plain success; null = the question is answered and every target of one run is met. */
function failOf({ visits, conclusion }: EndpointRun): FailKind | null {
  if (visits.length === 0) return "cannot-tell";
  switch (conclusion.kind) {
    case "one": {
      const results = visits.flatMap(({ figures: { targets } }) => targets.map(({ result }) => result));
      if (results.includes("fail")) return "missed";
      if (visits.some(({ run }) => !run.valid)) return "invalid";
      return results.includes("cannot-tell") ? "cannot-tell" : null;
    }
    case "sweep":
      return visits.every(({ run, load }) => run.valid || load.kind !== "open") ? null : "invalid";
    case "capacity": {
      const { lowPerSecond, limit } = conclusion.capacity;
      if (lowPerSecond === 0) return limit === "target" ? "missed" : "cannot-tell";
      return limit === "target" || limit === "search-end" ? null : "cannot-tell";
    }
    case "against":
      return conclusion.differences.length > 0 && conclusion.differences.every(({ morePairs }) => morePairs === 0) ? null : "cannot-tell";
  }
}

/** Exit status: 0 · 3 a target is missed, or no rate keeps them · 4 cannot tell yet, or invalid; with --fail-on 5 for what it names, else 0. */
export function endpointStatus(run: EndpointRun, failOn: ReadonlySet<FailKind> | null): number {
  const kind = failOf(run);
  if (kind === null) return 0;
  if (failOn === null) return exitOf[kind];
  return failOn.has(kind) ? failedOn : 0;
}
