/** Time of one run by operator: a bar for each model, the longest operators first. */
import type { Verdict } from "../../decide/index.ts";
import { escape, figure } from "../format.ts";
import { axisX, cut, linear, picture, width } from "./plot.ts";

const mostOperators = 10;

export function operatorsFigure(profiles: Verdict["profiles"]): string {
  const usOf = (profile: Verdict["profiles"][number], op: string): number => profile.operators.find((one) => one.op === op)?.us ?? 0;
  const most = (op: string): number => Math.max(...profiles.map((profile) => usOf(profile, op)));
  const ops = [...new Set(profiles.flatMap(({ operators }) => operators.map(({ op }) => op)))]
    .sort((a, b) => most(b) - most(a) || (a < b ? -1 : 1))
    .slice(0, mostOperators);
  if (ops.length === 0) return "";
  const [left, right, bar] = [230, width - 60, 16];
  const top = 12 + profiles.length * 22;
  const rowHeight = profiles.length * (bar + 2) + 10;
  const bottom = top + ops.length * rowHeight + 4;
  const scale = linear([0, most(ops[0]!)], [left, right]);
  const legend = profiles.map(
    ({ name }, k) =>
      `<rect class="bar s${k}" x="${left}" y="${4 + k * 22}" width="14" height="14"/><text class="tick" x="${left + 20}" y="${16 + k * 22}">${escape(cut(name, 60))}</text>`,
  );
  const rows = ops.map((op, i) => {
    const y = top + i * rowHeight;
    const bars = profiles.map((profile, k) => {
      const us = usOf(profile, op);
      const size = Math.max(0, scale(us) - left);
      return us === 0
        ? ""
        : `<rect class="bar s${k}" x="${left}" y="${y + k * (bar + 2)}" width="${size.toFixed(1)}" height="${bar}"/><text class="tick" x="${(left + size + 5).toFixed(1)}" y="${y + k * (bar + 2) + 12}">${escape(figure(us))}</text>`;
    });
    return `<text class="name" x="0" y="${y + 13}">${escape(cut(op, 26))}</text>${bars.join("")}`;
  });
  return picture(
    "operators",
    bottom + 44,
    "Time of one run by operator",
    "Microseconds of one run in each operator; the numbers are in the table below.",
    axisX(scale, bottom, top, "microseconds of one run") + legend.join("") + rows.join(""),
  );
}
