/** The report of a decision, the same bytes for the same verdict. */
import type { Verdict } from "../decide/index.ts";
import { escape } from "./format.ts";
import { page } from "./page.ts";
import { sections } from "./sections/index.ts";

const kinds: Record<Verdict["answer"]["kind"], string> = {
  winner: "Winner",
  keep: "Keep what you have",
  "no-difference": "No measurable difference",
  "none-meets": "Nothing meets the targets",
  "cannot-tell": "Cannot tell yet",
};

/** Renders the whole file. */
export function renderHtml(verdict: Verdict): string {
  const { answer, workload, smallestDifference } = verdict;
  const more = answer.moreRuns === null ? "" : `<p>About ${answer.moreRuns} more paired runs would decide.</p>`;
  const reasons = answer.reasons.length === 0 ? "" : `<ul>${answer.reasons.map((reason) => `<li>${escape(reason)}</li>`).join("")}</ul>`;
  const peak =
    workload.ratePerSecond === null ? "the rate is what one replica carries" : `${workload.ratePerSecond} requests/s at the peak`;
  return page({
    title: `${workload.name}: ${kinds[answer.kind]}`,
    what: `Assay · verdict on <strong>${escape(workload.name)}</strong> · ${escape(peak)} · decided by ${escape(verdict.decidedBy)}`,
    sentence: answer.sentence,
    kind: { text: kinds[answer.kind], className: answer.kind },
    next: `<p class="next">${escape(answer.next)}</p>`,
    skip: { id: "finalists", name: "the finalists" },
    body: `${reasons}${more}
<p class="soft">Targets: ${escape(workload.targets.join(" · "))}. ${escape(smallestDifference.sentence)}</p>
${sections(verdict)}`,
  });
}
