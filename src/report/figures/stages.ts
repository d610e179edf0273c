/** Where the time of a request goes: a bar for the mean request and one for the slowest 5 %. */
import { escape, percent } from "../format.ts";
import { cut, picture, width } from "./plot.ts";

export interface StageRow {
  name: string;
  /** The same stages in every row; shares 0–1, null = not told. */
  stages: readonly { stage: string; shareOfMean: number | null; shareAboveP95: number | null }[];
}

/** @param description for who cannot see it */
export function stagesFigure(shown: readonly StageRow[], description: string): string {
  const [first] = shown;
  if (!first || first.stages.length === 0) return "";
  const [left, right, rowHeight] = [230, width - 10, 58];
  const bars = shown.map(({ name, stages }, i) => {
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
    return `<text class="name" x="0" y="${top + 14}">${escape(cut(name, 26))}</text><text class="tick" text-anchor="end" x="${left - 8}" y="${top + 14}">mean</text>${bar(
      top,
      stages.map((stage) => stage.shareOfMean),
    )}<text class="tick" text-anchor="end" x="${left - 8}" y="${top + 36}">slowest 5 %</text>${bar(
      top + 22,
      stages.map((stage) => stage.shareAboveP95),
    )}`;
  });
  const step = (right - left) / Math.max(4, first.stages.length);
  const legend = first.stages.map(
    ({ stage }, k) =>
      `<rect class="stage g${k}" x="${(left + k * step).toFixed(1)}" y="6" width="12" height="12"/><text class="tick" x="${(left + 15 + k * step).toFixed(1)}" y="17">${escape(stage)}</text>`,
  );
  return picture("stages", 40 + shown.length * rowHeight, "Where the time of a request goes", description, legend.join("") + bars.join(""));
}
