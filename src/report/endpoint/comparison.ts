/** Runs against endpoints side by side in a terminal. */
import type { ComparedFigure, RunComparison } from "../../bench/index.ts";
import { figure, percent } from "../format.ts";
import { textTable } from "./table.ts";
import { sides } from "./words.ts";

function sideText(side: ComparedFigure["first"]): string {
  if (!side) return "–";
  const { value, low, high, runs } = side;
  const bounds = low === null && high === null ? "" : ` (${low === null ? "?" : figure(low)} – ${high === null ? "?" : figure(high)})`;
  return runs === 1 ? `${figure(value)}${bounds}` : `${figure(value)}, ${runs} runs`;
}

const row = ({ what, unit, first, second, ratio, answer, visible, moreRuns }: ComparedFigure): string[] => [
  `${what} (${unit})`,
  answer,
  sideText(first),
  sideText(second),
  ratio ? `${figure(ratio.value)} (${figure(ratio.low)} – ${figure(ratio.high)})` : "–",
  visible === null ? "–" : percent(visible),
  moreRuns === 0 ? "" : `about ${moreRuns} more ${moreRuns === 1 ? "run" : "runs"} of each would tell`,
];

export function renderRunComparison({ sides: asked, unlike, leftOut, figures }: RunComparison): string {
  const loads = [...new Set(figures.map(({ load }) => load))];
  const single = figures.some(({ ratio }) => ratio === null);
  return `${[
    ...asked.map((text, at) => `${sides[at]!.padEnd(7)}${text}`),
    ...(unlike.length > 0 ? ["They were not asked the same:", ...unlike.map((one) => `• ${one}`)] : []),
    ...(leftOut.length > 0 ? ["Left out as invalid:", ...leftOut.map((one) => `• ${one}`)] : []),
    ...loads.flatMap((load) => [
      "",
      load,
      textTable(
        [
          ["", "second is", "first", "second", "second ÷ first, 95 %", "smallest that shows", ""],
          ...figures.filter((one) => one.load === load).map(row),
        ],
        2,
        1,
      ),
    ]),
    ...(single
      ? [
          "",
          "One run a side says nothing of the noise between runs: give more, as in assay compare A1 A2 … --with B1 B2 …, or measure in pairs with assay bench … --against.",
        ]
      : []),
  ].join("\n")}\n`;
}
