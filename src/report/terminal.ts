/** The verdict in a terminal: the answer, the finalists in a table, what to do next. */
import type { CandidateVerdict, Verdict } from "../decide/index.ts";
import { interval, metricValue, milliseconds, rate, unknown, usd } from "./format.ts";

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
const tone: Record<Verdict["answer"]["kind"], keyof typeof codes> = {
  winner: "green",
  keep: "green",
  "no-difference": "green",
  "none-meets": "red",
  "cannot-tell": "yellow",
};
const gateMark = { pass: "pass", fail: "FAIL", "cannot-tell": "open", "not-asked": "–" } as const;

function wrap(text: string, columns: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns - indent.length) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((one) => indent + one).join("\n");
}

function row(candidate: CandidateVerdict): string[] {
  const { latency, capacity, cost, accuracy, performance, accuracyGate } = candidate;
  const at = (wanted: number): string => milliseconds(latency?.percentiles.find(({ percentile }) => percentile === wanted)?.ms ?? null);
  const difference = accuracy?.difference;
  const accurate = accuracy === null ? "not measured" : metricValue(accuracy.metric, accuracy.value.value);
  return [
    candidate.name,
    at(50),
    at(99),
    capacity && capacity.lowPerSecond > 0 ? rate(capacity.lowPerSecond) : "not measured",
    cost ? usd(cost.perMillionGoodUsd.value) : "unknown",
    difference
      ? `${accurate} (${difference.value >= 0 ? "+" : "−"}${metricValue(accuracy.metric, Math.abs(difference.value), 2)})`
      : accurate,
    `${gateMark[performance.result]} / ${gateMark[accuracyGate.result]}`,
  ];
}

/** @param options columns: width to wrap at; reportPath: where the report lies, null = nowhere */
export function renderTerminal(
  verdict: Verdict,
  { colour, columns, reportPath }: { colour: boolean; columns: number; reportPath: string | null },
): string {
  const paint = (text: string, ...names: (keyof typeof codes)[]): string =>
    colour ? `${names.map((name) => `\u001B[${codes[name]}m`).join("")}${text}\u001B[0m` : text;
  const { answer, candidates, funnel, runs } = verdict;
  const wide = Math.max(40, Math.min(columns, 120));
  const head = ["candidate", "p50", "p99", "capacity", "$/M good", "accuracy", "gates"];
  const rows = candidates.map((candidate) => row(candidate).map((cell) => (cell === unknown ? "–" : cell)));
  const widths = head.map((name, c) => Math.max(name.length, ...rows.map((cells) => cells[c]!.length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, c) => cell.padEnd(widths[c]!))
      .join("  ")
      .trimEnd();
  const fits = widths.reduce((sum, size) => sum + size + 2, 0) <= columns;
  const table = fits
    ? [
        paint(line(head), "dim"),
        ...rows.map((cells, i) => (candidates[i]!.id === answer.candidate ? paint(line(cells), "bold") : line(cells))),
      ]
    : rows.flatMap((cells, i) => [
        paint(cells[0]!, ...(candidates[i]!.id === answer.candidate ? (["bold"] as const) : [])),
        ...cells.slice(1).map((cell, c) => `    ${head[c + 1]!.padEnd(20)}${cell}`),
      ]);
  const invalid = runs.filter(({ valid }) => !valid).length;
  return [
    "",
    paint(wrap(answer.sentence, wide), tone[answer.kind], "bold"),
    wrap(answer.next, wide),
    "",
    ...table,
    paint("gates: targets / accuracy", "dim"),
    "",
    ...answer.reasons.slice(0, 6).map((reason) =>
      wrap(reason, wide - 2)
        .replace(/^/, "• ")
        .replaceAll("\n", "\n  "),
    ),
    ...(verdict.payBack ? [wrap(verdict.payBack.sentence, wide)] : []),
    wrap(verdict.smallestDifference.sentence, wide),
    wrap(
      `${funnel.enumerated} combinations, ${funnel.screened} screened in process, ${funnel.finalists} measured end to end in ${runs.length} runs${invalid > 0 ? ` (${invalid} invalid, not used)` : ""}; ${interval({ value: verdict.repeat.spentSeconds, low: null, high: null }, (seconds) => `${Math.round(seconds)} s`)}.`,
      wide,
    ),
    ...(answer.moreRuns === null ? [] : [`About ${answer.moreRuns} more paired runs would decide.`]),
    ...(reportPath === null ? [] : ["", `Report: ${reportPath}`]),
    "",
  ].join("\n");
}
