/** The verdict for other tools: Markdown for a pull request, JUnit XML for CI. */
import type { CandidateVerdict, Gate, Verdict } from "../decide/index.ts";
import { interval, metricValue, milliseconds, rate, usd } from "./format.ts";
import { junitSuite, type TestCase } from "./junit.ts";

const gateWord = { pass: "pass", fail: "**fails**", "cannot-tell": "open", "not-asked": "–" } as const;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function markdownRow(one: CandidateVerdict, proposed: string | null): string {
  const at = (wanted: number): string => milliseconds(one.latency?.percentiles.find(({ percentile }) => percentile === wanted)?.ms ?? null);
  const { accuracy, capacity, cost } = one;
  const accurate = accuracy === null ? "–" : metricValue(accuracy.metric, accuracy.value.value);
  const cells = [
    one.id === proposed ? `**${one.name}**` : one.name,
    at(50),
    at(99),
    capacity && capacity.lowPerSecond > 0 ? rate(capacity.lowPerSecond) : "–",
    cost ? interval(cost.perMillionGoodUsd, usd) : "unknown",
    accurate,
    `${gateWord[one.performance.result]} / ${gateWord[one.accuracyGate.result]}`,
  ];
  return `| ${cells.map(cell).join(" | ")} |`;
}

/** A short document for a pull request. */
export function renderMarkdown(verdict: Verdict): string {
  const { answer, candidates, workload, smallestDifference, repeat } = verdict;
  return [
    `### Assay: ${cell(workload.name)}`,
    "",
    `**${cell(answer.sentence)}**`,
    "",
    cell(answer.next),
    "",
    "| candidate | p50 | p99 | capacity | $ per million good | accuracy | targets / accuracy |",
    "|---|---|---|---|---|---|---|",
    ...candidates.map((one) => markdownRow(one, answer.candidate)),
    "",
    ...answer.reasons.slice(0, 6).map((reason) => `- ${cell(reason)}`),
    ...(verdict.payBack ? [`- ${cell(verdict.payBack.sentence)}`] : []),
    `- ${cell(smallestDifference.sentence)}`,
    "",
    `<sub>targets: ${cell(workload.targets.join(", ") || "none stated")} · seed ${repeat.rootSeed} · decided by ${verdict.decidedBy} · \`${repeat.command}\`</sub>`,
    "",
  ].join("\n");
}

const outcomeOf = { pass: "pass", fail: "fail", "cannot-tell": "skip", "not-asked": "skip" } as const;
const gateCase = (name: string, gate: Gate, own: boolean): TestCase => {
  const outcome = outcomeOf[gate.result];
  // A challenger that fails is a finding, not a failure of what is in use.
  return { name, outcome: own || outcome === "pass" ? outcome : "skip", text: gate.reasons.join("; ") || gate.result };
};

/**
 * JUnit XML: the answer, and both gates of every finalist. Fails: no candidate meets the targets, a gate
 * of the proposed candidate, or of the baseline where none is proposed. Open and not asked = skipped.
 */
export function renderJUnit(verdict: Verdict): string {
  const { answer, candidates, workload, baseline } = verdict;
  const own = answer.candidate ?? baseline;
  const answerOutcome = answer.kind === "none-meets" ? "fail" : answer.kind === "cannot-tell" ? "skip" : "pass";
  const cases: TestCase[] = [
    { name: `answer: ${answer.kind}`, outcome: answerOutcome, text: [answer.sentence, ...answer.reasons].join("\n") },
    ...candidates.flatMap((one) => [
      gateCase(`${one.name}: targets`, one.performance, one.id === own),
      gateCase(`${one.name}: accuracy`, one.accuracyGate, one.id === own),
    ]),
  ];
  return junitSuite(`assay: ${workload.name}`, `assay.${workload.name}`, cases);
}
