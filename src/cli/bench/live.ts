/** How a measurement goes, on stderr: one line that is rewritten on a terminal, one line a visit without. */
import { figure } from "../../base/index.ts";
import { describeLoad, type NextVisit } from "../../bench/index.ts";
import { outcomeClasses, type LoadTick } from "../../load/index.ts";

export interface LiveLine {
  onVisit: (next: NextVisit, number: number) => void;
  onTick: (tick: LoadTick) => void;
  end: () => void;
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** @param rate asked and reached, of the requests since the last tick */
function said(tick: LoadTick, before: LoadTick | null, durationMs: number | null): string {
  const total = ({ ended }: LoadTick): number => ended.reduce((sum, count) => sum + count, 0);
  const perSecond = before && tick.atMs > before.atMs ? (1000 * (total(tick) - total(before))) / (tick.atMs - before.atMs) : null;
  const faults = tick.ended.flatMap((count, at) => (count > 0 && outcomeClasses[at] !== "good" ? [`${count} ${outcomeClasses[at]}`] : []));
  const left =
    tick.atMs < 0 ? "warm-up" : durationMs === null ? seconds(tick.atMs) : `${seconds(Math.max(0, durationMs - tick.atMs))} left`;
  return [
    left,
    ...(perSecond === null ? [] : [`${figure(perSecond)} ended/s`]),
    `${tick.inFlight} in flight${tick.waiting > 0 ? `, ${tick.waiting} wait` : ""}`,
    ...(Number.isNaN(tick.ttftMs) ? [] : [`TTFT ${figure(tick.ttftMs)} ms`]),
    ...(Number.isNaN(tick.latencyMs) ? [] : [`E2E ${figure(tick.latencyMs)} ms`]),
    ...faults,
    `lag ${figure(Math.max(0, tick.lagMs))} ms`,
  ].join(" · ");
}

export function liveLine(stream: NodeJS.WriteStream): LiveLine {
  let head = "";
  let durationMs: number | null = null;
  let before: LoadTick | null = null;
  const clear = (): void => void (stream.isTTY && stream.write("\r\u001B[K"));
  return {
    onVisit({ endpoint, load, durationMs: length }, number) {
      clear();
      before = null;
      durationMs = load.kind === "trace" ? null : length;
      head = `${number + 1}: ${describeLoad(load)}${endpoint > 0 ? ", the other endpoint" : ""}`;
      stream.write(`Measuring ${head}${durationMs === null ? "" : ` for ${seconds(durationMs)}`} …\n`);
    },
    onTick(tick) {
      if (!stream.isTTY) return;
      clear();
      stream.write(said(tick, before, durationMs).slice(0, (stream.columns ?? 80) - 1));
      before = tick;
    },
    end: clear,
  };
}
