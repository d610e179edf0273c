/** A run against endpoints in a terminal: its answer first, then what it rests on. */
import { describeEndpoint, describeLoad, type EndpointQuestion, type EndpointRun, type EndpointVisit } from "../../bench/index.ts";
import type { Figures } from "../../load/index.ts";
import { figure } from "../format.ts";
import { textTable } from "./table.ts";
import { byRate, capacityLines, differenceRows, metricRows, percentileName, sides, standingLines, visitNotes, visitRows } from "./words.ts";

const targetLine = ({ tag, p, limit, result, reason }: Figures["targets"][number]): string =>
  `${{ pass: "pass", fail: "FAIL", "cannot-tell": "open" }[result]}  ${tag}.${percentileName(p)} ≤ ${figure(limit, 6)}: ${reason}`;

/** All of a visit. */
function visitLines(question: EndpointQuestion, visit: EndpointVisit): string[] {
  const { figures, table, load, durationMs } = visit;
  return [
    `${describeLoad(load)}${load.kind === "trace" ? "" : ` · ${figure(durationMs / 1000)} s`} · ${table.length} requests`,
    ...standingLines(visit),
    "",
    textTable(metricRows(figures), 2),
    "",
    ...visitNotes(question, visit),
    "",
    ...figures.targets.map(targetLine),
  ];
}

const visitTable = (visits: readonly EndpointVisit[]): string => textTable(visitRows(visits), 1, 1);

/** Renders it. @param folder where the records are, as shown to the user */
export function renderEndpoint({ question, visits, conclusion }: EndpointRun, folder: string): string {
  const { endpoints } = question;
  const heads = endpoints.map((endpoint, at) => `${endpoints.length > 1 ? sides[at]!.padEnd(7) : ""}${describeEndpoint(endpoint)}`);
  const body = (): string[] => {
    if (visits.length === 0) return ["Nothing was measured."];
    switch (conclusion.kind) {
      case "one":
        return visits.flatMap((visit) => visitLines(question, visit));
      case "sweep":
        return [visitTable(byRate(visits))];
      case "capacity":
        return [...capacityLines(conclusion), "", visitTable(visits)];
      case "against":
        return [
          textTable(differenceRows(conclusion.differences), 2),
          "",
          ...endpoints.flatMap((_, at) => [sides[at]!, visitTable(visits.filter(({ endpoint }) => endpoint === at)), ""]),
        ];
    }
  };
  return `${[...heads, ...body()].join("\n").trimEnd()}\n\nRecords and report: ${folder}\n`;
}
