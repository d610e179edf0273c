/** What is sent and by which design: one run, a sweep, a search for the capacity, one endpoint against another. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { AssayError, digestBytes } from "../../base/index.ts";
import type { Design, EndpointLoad } from "../../bench/index.ts";
import { parseTrace, type TraceRequest } from "../../load/index.ts";
import { arrivalOf, flag, numberOf, numbersOf, type BenchOptions } from "./options.ts";

interface Asked {
  load: EndpointLoad;
  design: Design;
  /** The requests of a trace, at the speed asked; null = no trace is sent. */
  trace: readonly TraceRequest[] | null;
}

const loads = ["rate", "concurrency", "ramp", "steps", "trace", "sweep"] as const;

function traceOf(path: string, { speed: speedText = "1", traceRequests }: BenchOptions): Asked {
  const speed = numberOf(speedText, "speed", { least: 0.001 });
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new AssayError("USAGE", `--trace ${path}: it cannot be read`, { cause });
  }
  const { format, requests } = parseTrace(bytes.toString("utf8"), path);
  const count =
    traceRequests === undefined
      ? requests.length
      : Math.min(requests.length, numberOf(traceRequests, "trace-requests", { least: 1, whole: true }));
  return {
    load: { kind: "trace", file: basename(path), digest: digestBytes(bytes), format, speed, requests: count },
    design: { kind: "one" },
    trace: requests.slice(0, count).map((request) => ({ ...request, atMs: request.atMs / speed })),
  };
}

function loadOf(options: BenchOptions): EndpointLoad {
  const { rate, concurrency, ramp, steps } = options;
  if (concurrency !== undefined) {
    if (options.arrival !== undefined)
      throw new AssayError("USAGE", "--arrival does not go with --concurrency: the next request is sent when one ends");
    return { kind: "closed", concurrency: numberOf(concurrency, "concurrency", { least: 1, whole: true }) };
  }
  const arrival = arrivalOf(options.arrival);
  if (ramp !== undefined) {
    const [fromPerSecond, toPerSecond, ...more] = numbersOf(ramp, "ramp", 2);
    if (more.length > 0) throw new AssayError("USAGE", `--ramp ${ramp}: expected two rates, such as 5,50`);
    return { kind: "ramp", fromPerSecond: fromPerSecond!, toPerSecond: toPerSecond!, arrival };
  }
  if (steps !== undefined) return { kind: "steps", ratesPerSecond: numbersOf(steps, "steps", 2), arrival };
  return { kind: "open", ratePerSecond: numberOf(rate!, "rate", { least: 0.001 }), arrival };
}

/** Throws USAGE where the options name no load, or more than one; DATA_UNREADABLE for a trace. */
export function askedOf(options: BenchOptions): Asked {
  const { trace, sweep, findCapacity, against, pairs } = options;
  const given = loads.filter((name) => options[name] !== undefined);
  const only = (name: string, why: string): void => {
    if (options[name as keyof BenchOptions] !== undefined) throw new AssayError("USAGE", `${flag(name)} goes with ${why}`);
  };
  if (trace === undefined) for (const name of ["speed", "traceRequests"]) only(name, "--trace");
  if (against === undefined) for (const name of ["againstModel", "pairs"]) only(name, "--against");
  if (findCapacity) {
    const stray = given.find((name) => name !== "rate");
    if (stray) throw new AssayError("USAGE", `${flag(stray)} does not go with --find-capacity; --rate says where the search starts`);
    if (against !== undefined) throw new AssayError("USAGE", "--against does not go with --find-capacity");
    if (!options.target) throw new AssayError("USAGE", "--find-capacity needs a --target that the rate must keep");
    const startPerSecond = options.rate === undefined ? null : numberOf(options.rate, "rate", { least: 0.001 });
    return {
      load: { kind: "open", ratePerSecond: startPerSecond ?? 1, arrival: arrivalOf(options.arrival) },
      design: { kind: "capacity", startPerSecond },
      trace: null,
    };
  }
  if (given.length !== 1)
    throw new AssayError("USAGE", `give either --rate or --concurrency, or one of --ramp, --steps, --trace, --sweep, --find-capacity`);
  if (sweep !== undefined) {
    if (against !== undefined) throw new AssayError("USAGE", "--against does not go with --sweep");
    const ratesPerSecond = numbersOf(sweep, "sweep", 2);
    return {
      load: { kind: "open", ratePerSecond: ratesPerSecond[0]!, arrival: arrivalOf(options.arrival) },
      design: { kind: "sweep", ratesPerSecond },
      trace: null,
    };
  }
  const asked: Asked = trace === undefined ? { load: loadOf(options), design: { kind: "one" }, trace: null } : traceOf(trace, options);
  if (against === undefined) return asked;
  return { ...asked, design: { kind: "against", pairs: numberOf(pairs ?? "20", "pairs", { least: 2, most: 200, whole: true }) } };
}
