/** When each artifact was built, and in which phases. */
import type { Verdict } from "../../decide/index.ts";
import { escape } from "../format.ts";
import { axisX, cut, linear, picture, width } from "./plot.ts";

export function timelineFigure(builds: Verdict["builds"]): string {
  if (builds.length === 0) return "";
  const [left, right, top, rowHeight] = [230, width - 20, 10, 22];
  const bottom = top + builds.length * rowHeight;
  const end = Math.max(...builds.map(({ startMs, lengthMs }) => startMs + lengthMs)) / 1000;
  const x = linear([0, end], [left, right]);
  const bars = builds.map(({ model, route, startMs, lengthMs, outcome, phases }, i) => {
    const y = top + i * rowHeight;
    const whole = `<rect class="build ${outcome}" x="${x(startMs / 1000)}" y="${y + 4}" width="${Math.max(1.5, x((startMs + lengthMs) / 1000) - x(startMs / 1000)).toFixed(1)}" height="13"><title>${escape(`${model} · ${route}: ${outcome}`)}</title></rect>`;
    const edges = phases.map(
      (phase) =>
        `<line class="phase" x1="${x((startMs + phase.startMs) / 1000)}" x2="${x((startMs + phase.startMs) / 1000)}" y1="${y + 4}" y2="${y + 17}"/>`,
    );
    return `<text class="name" x="0" y="${y + 15}">${escape(cut(`${model} · ${route}`, 34))}</text>${whole}${edges.join("")}`;
  });
  return picture(
    "timeline",
    bottom + 46,
    "Build timeline",
    "When each artifact was built or taken from the cache; the times are in the table below.",
    `${axisX(x, bottom + 4, top, "seconds since the run began")}${bars.join("")}`,
  );
}
