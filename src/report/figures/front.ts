/** Latency × cost: who is not beaten in both. Where no price is known, CPU time a request stands for cost. */
import type { CandidateVerdict } from "../../decide/index.ts";
import { escape, figure } from "../format.ts";
import { axisX, axisY, colours, cut, linear, mark, picture, width } from "./plot.ts";

export function frontFigure(candidates: readonly CandidateVerdict[]): { svg: string; by: "cost" | "cpu" } | null {
  const priced = candidates.every(({ cost, latency }) => cost !== null || latency === null);
  const by = priced && candidates.some(({ cost }) => cost) ? "cost" : "cpu";
  const points = candidates.flatMap((candidate, series) => {
    const y = by === "cost" ? (candidate.cost?.perMillionGoodUsd ?? null) : candidate.cpuMsPerRequest;
    const tail = candidate.latency?.percentiles.find(({ percentile }) => percentile === 99);
    return y && tail ? [{ candidate, series, y, x: { value: tail.ms, low: tail.low, high: tail.high } }] : [];
  });
  if (points.length < 2) return null;
  const [left, right, top, bottom] = [70, width - 30, 30, 260];
  const spread = (
    pick: (point: (typeof points)[number]) => { value: number; low: number | null; high: number | null },
  ): [number, number] => {
    const all = points.flatMap((point) => [pick(point).value, pick(point).low ?? pick(point).value, pick(point).high ?? pick(point).value]);
    return [Math.min(0, ...all), Math.max(...all)];
  };
  const [x, y] = [
    linear(
      spread((point) => point.x),
      [left, right],
    ),
    linear(
      spread((point) => point.y),
      [bottom, top],
    ),
  ];
  const drawn = points.map(({ candidate, series, x: px, y: py }, i) => {
    const [cx, cy] = [x(px.value), y(py.value)];
    const c = `class="whisker s${series % colours}"`;
    const legend = bottom + 58 + i * 20;
    return `<line ${c} x1="${x(px.low ?? px.value)}" x2="${x(px.high ?? px.value)}" y1="${cy}" y2="${cy}"/><line ${c} x1="${cx}" x2="${cx}" y1="${y(py.low ?? py.value)}" y2="${y(py.high ?? py.value)}"/>${mark(series, cx, cy)}${mark(series, left, legend)}<text class="name" x="${left + 14}" y="${legend + 4}">${escape(cut(candidate.name, 60))}</text>`;
  });
  const label = by === "cost" ? "US dollars per million good requests" : "CPU milliseconds per request";
  const svg = picture(
    "front",
    bottom + 62 + points.length * 20,
    "Latency and cost",
    `p99 latency against ${label.toLowerCase()}; lower left is better. The numbers are in the table of finalists.`,
    `${axisX(x, bottom, top, "p99, milliseconds", figure)}${axisY(y, left, right, label, figure)}${drawn.join("")}`,
  );
  return { svg, by };
}
