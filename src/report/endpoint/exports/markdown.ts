/** A run for a pull request. */
import { describeEndpoint, type EndpointRun } from "../../../bench/index.ts";
import { capacityLines, differenceRows, headline, metricRows, standingLines, visitNotes, visitRows, type Rows } from "../words.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const table = ([head, ...rows]: Rows): string[] => [
  `| ${head!.map(cell).join(" | ")} |`,
  `|${head!.map(() => "---").join("|")}|`,
  ...rows.map((row) => `| ${row.map(cell).join(" | ")} |`),
  "",
];

export function toMarkdown(run: EndpointRun): string {
  const { question, visits, conclusion } = run;
  const { sentence, text } = headline(run);
  const [first] = visits;
  const body = (): string[] => {
    switch (conclusion.kind) {
      case "one":
        return [
          ...table(metricRows(first!.figures)),
          ...[...standingLines(first!), ...visitNotes(question, first!)].map((line) => `- ${cell(line)}`),
        ];
      case "sweep":
        return table(visitRows(visits));
      case "capacity":
        return [...capacityLines(conclusion).map((line) => `- ${cell(line)}`), "", ...table(visitRows(visits))];
      case "against":
        return table(differenceRows(conclusion.differences));
    }
  };
  return [
    `### Assay: ${cell(sentence)}`,
    "",
    `**${cell(text)}**`,
    "",
    ...question.endpoints.map((endpoint) => `${cell(describeEndpoint(endpoint))}  `),
    "",
    ...(first ? body() : []),
    "",
    `<sub>seed ${question.seed}</sub>`,
    "",
  ].join("\n");
}
