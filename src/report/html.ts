/** The report: one HTML file without script or outside request, the same bytes for the same verdict. */
import type { Verdict } from "../decide/index.ts";
import { escape } from "./format.ts";
import { sections } from "./sections/index.ts";
import { style } from "./style.ts";

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
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escape(`${workload.name}: ${kinds[answer.kind]}`)} – Assay</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#finalists">Skip to the finalists</a>
<main>
<header>
<p class="what">Assay · verdict on <strong>${escape(workload.name)}</strong> · ${escape(peak)} · decided by ${escape(verdict.decidedBy)}</p>
<h1>${escape(answer.sentence)}</h1>
<p><span class="kind ${answer.kind}">${kinds[answer.kind]}</span></p>
<p class="next">${escape(answer.next)}</p>
</header>
${reasons}${more}
<p class="soft">Targets: ${escape(workload.targets.join(" · "))}. ${escape(smallestDifference.sentence)}</p>
${sections(verdict)}
</main>
</body>
</html>
`;
}
