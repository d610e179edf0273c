/** A run against endpoints in a terminal: its answer first, then what it rests on. */
import { describeEndpoint, rateOf, type Conclusion, type Difference, type EndpointRun, type EndpointVisit } from "../../bench/index.ts";
import { figure, percent } from "../format.ts";
import { textTable } from "./table.ts";
import { percentileName, visitLines } from "./visit.ts";

const value = ({ figures }: EndpointVisit, tag: string, p: number): string => {
  const found = figures.metrics.find((metric) => metric.tag === tag)?.percentiles.find((one) => one.p === p)?.value;
  return found === undefined || found === null ? "–" : figure(found);
};

/** Requests in flight, mean over the window. */
function inFlight({ context }: EndpointVisit): string {
  const [samples, sum] = context.inFlight.reduce(([count, total], [more, added]) => [count + more, total + added], [0, 0]);
  return samples === 0 ? "–" : figure(sum / samples);
}

const faultsOf = (ledger: Readonly<Record<string, number>>): string[] =>
  Object.entries(ledger)
    .filter(([outcome, count]) => outcome !== "good" && count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`);

/** Visits side by side. */
function visitTable(visits: readonly EndpointVisit[]): string {
  const tokens = visits.some(({ figures }) => figures.outputPerSecond > 0);
  const head = [
    "requests/s asked",
    "sent",
    "good",
    ...(tokens ? ["TTFT p50", "p99", "TPOT p50"] : []),
    "E2E p50",
    "p99 ms",
    ...(tokens ? ["tokens/s"] : []),
    "in flight",
    "",
  ];
  const rows = visits.map((visit) => {
    const { run, figures, load, context } = visit;
    const asked = rateOf(load, context);
    const targets = figures.targets.map(({ tag, p, result }) => `${tag}.${percentileName(p)} ${result}`).join(", ");
    return [
      asked === null ? "closed loop" : figure(asked),
      figure(run.achievedPerSecond),
      percent(visit.table.length === 0 ? 0 : run.ledger.good / visit.table.length),
      ...(tokens ? [value(visit, "ttft", 0.5), value(visit, "ttft", 0.99), value(visit, "tpot", 0.5)] : []),
      value(visit, "e2e", 0.5),
      value(visit, "e2e", 0.99),
      ...(tokens ? [figure(figures.outputPerSecond)] : []),
      inFlight(visit),
      [...faultsOf(run.ledger), ...(run.valid ? [] : [`INVALID: ${run.reasons[0] ?? ""}`]), ...(targets ? [targets] : [])].join("; ") ||
        "–",
    ];
  });
  return textTable([head, ...rows], 1, 1);
}

const bounds: Record<Extract<Conclusion, { kind: "capacity" }>["capacity"]["limit"], string> = {
  target: "the next rate misses a target",
  generator: "the load generator itself is the limit above it, so the endpoint may hold more",
  "host-stalls": "host stalls hide what is above it",
  "search-end": "the search ended there without a miss",
  budget: "the search was stopped",
};

function capacityLines({ capacity }: Extract<Conclusion, { kind: "capacity" }>): string[] {
  const { lowPerSecond, highPerSecond, limit, monotone } = capacity;
  const above = highPerSecond === null ? bounds[limit] : `${figure(highPerSecond)} requests/s misses`;
  return [
    lowPerSecond === 0 ? `No rate was found that keeps every target: ${above}` : `Capacity ${figure(lowPerSecond)} requests/s: ${above}`,
    ...(highPerSecond !== null && limit !== "target" ? [bounds[limit]] : []),
    ...(monotone ? [] : ["A rate above one that missed was kept: the endpoint does not behave alike from visit to visit"]),
  ];
}

function differenceRow({ what, unit, ratio, answer, visible, morePairs }: Difference): string[] {
  return [
    `${what} (${unit})`,
    answer,
    ratio ? `${figure(ratio.value)} (${figure(ratio.low)} – ${figure(ratio.high)})` : "–",
    ratio ? String(ratio.pairs) : "0",
    visible === null ? "–" : percent(Math.abs(visible - 1)),
    morePairs === 0 ? "" : `about ${morePairs} more pairs would tell`,
  ];
}

function differenceTable(differences: readonly Difference[]): string {
  const head = ["second against first", "", "ratio, 95 % interval", "pairs", "smallest that shows", ""];
  return textTable([head, ...differences.map(differenceRow)], 2);
}

/** Renders it. @param folder where the records are, as shown to the user */
export function renderEndpoint({ question, visits, conclusion }: EndpointRun, folder: string): string {
  const { endpoints } = question;
  const heads = endpoints.map((endpoint, at) => `${endpoints.length > 1 ? ["first  ", "second "][at]! : ""}${describeEndpoint(endpoint)}`);
  const body = (): string[] => {
    if (visits.length === 0) return ["Nothing was measured."];
    switch (conclusion.kind) {
      case "one":
        return visits.flatMap((visit) => visitLines(question, visit));
      case "sweep":
        return [visitTable(visits.toSorted((a, b) => (rateOf(a.load) ?? 0) - (rateOf(b.load) ?? 0)))];
      case "capacity":
        return [...capacityLines(conclusion), "", visitTable(visits)];
      case "against":
        return [
          differenceTable(conclusion.differences),
          "",
          ...endpoints.flatMap((_, at) => [["first", "second"][at]!, visitTable(visits.filter(({ endpoint }) => endpoint === at)), ""]),
        ];
    }
  };
  return `${[...heads, ...body()].join("\n").trimEnd()}\n\nRecords: ${folder}\n`;
}
