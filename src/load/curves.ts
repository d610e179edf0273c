/** Distributions of a run's latencies for drawing. Pure. */
import { percentileCurve } from "../stats/index.ts";
import { requestMetrics } from "./metrics/index.ts";
import type { RecordTable } from "./records.ts";
import { metricValues } from "./values.ts";

export interface MetricCurve {
  tag: string;
  title: string;
  /** [percent, milliseconds], ascending, over all scheduled requests; it ends where the rest brought nothing. */
  curve: [number, number][];
}

const drawn: ReadonlySet<string> = new Set(["ttft", "tpot", "e2e"]);

/** Those of TTFT, TPOT and E2E that apply. */
export const curvesOf = (table: RecordTable): MetricCurve[] =>
  requestMetrics
    .filter(({ tag }) => drawn.has(tag))
    .map(({ tag, title }) => ({
      tag,
      title,
      curve: percentileCurve(metricValues(table, tag).sort()).filter(([, ms]) => Number.isFinite(ms) && ms > 0),
    }))
    .filter(({ curve }) => curve.length > 0);
