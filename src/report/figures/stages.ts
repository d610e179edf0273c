/** Where the time of a request goes: a bar for the mean request and one for the slowest 5 %. */
import type { CandidateVerdict } from "../../decide/index.ts";
import { escape, percent } from "../format.ts";
import { cut, picture, width } from "./plot.ts";

export function stagesFigure(candidates: readonly CandidateVerdict[]): string {
  const shown = candidates.filter(({ latency }) => latency && latency.stages.length > 0);
  if (shown.length === 0) return "";
  const [left, right, rowHeight] = [230, width - 10, 58];
  const bars = shown.map(({ name, latency }, i) => {
    const top = 34 + i * rowHeight;
    const bar = (y: number, shares: readonly (number | null)[]): string => {
      let x = left;
      return shares
        .map((share, k) => {
          const size = (right - left) * (share ?? 0);
          const at = x;
          x += size;
          const text =
            size > 44
              ? `<text class="in-bar" text-anchor="middle" x="${(at + size / 2).toFixed(1)}" y="${y + 13}">${escape(percent(share, 2))}</text>`
              : "";
          return `<rect class="stage g${k}" x="${at.toFixed(1)}" y="${y}" width="${size.toFixed(1)}" height="18"/>${text}`;
        })
        .join("");
    };
    const { stages } = latency!;
    return `<text class="name" x="0" y="${top + 14}">${escape(cut(name, 26))}</text><text class="tick" text-anchor="end" x="${left - 8}" y="${top + 14}">mean</text>${bar(
      top,
      stages.map((stage) => stage.shareOfMean),
    )}<text class="tick" text-anchor="end" x="${left - 8}" y="${top + 36}">slowest 5 %</text>${bar(
      top + 22,
      stages.map((stage) => stage.shareAboveP95),
    )}`;
  });
  const legend = ["client", "network", "queue", "compute"].map(
    (stage, k) =>
      `<rect class="stage g${k}" x="${left + k * 110}" y="6" width="14" height="14"/><text class="tick" x="${left + 20 + k * 110}" y="18">${stage}</text>`,
  );
  return picture(
    "stages",
    40 + shown.length * rowHeight,
    "Where the time of a request goes",
    "Shares of client, network, queue and compute time; the numbers are in the table below.",
    legend.join("") + bars.join(""),
  );
}
