/** Where the time goes: of a request, and of a run inside the model. */
import type { Verdict } from "../../decide/index.ts";
import { operatorsFigure } from "../figures/operators.ts";
import { stagesFigure } from "../figures/stages.ts";
import { figure, interval, milliseconds, percent } from "../format.ts";
import { frame, number, paragraph, plain, section, table, type Cell } from "../markup.ts";

export function stagesSection({ candidates }: Verdict): string {
  const rows = candidates.flatMap(({ name, latency }) =>
    (latency?.stages ?? []).map(({ stage, meanMs, shareOfMean, shareAboveP95 }) => [
      plain(`${name} · ${stage}`),
      number(interval(meanMs, milliseconds)),
      number(percent(shareOfMean)),
      number(percent(shareAboveP95)),
    ]),
  );
  if (rows.length === 0) return "";
  return section(
    "stages-h",
    "Where the time of a request goes",
    paragraph(
      "Client: due to sent. Queue and compute: the server's own clock. Network: everything in between that neither clock explains, HTTP handling on both sides included.",
    ),
    frame(
      stagesFigure(
        candidates.flatMap(({ name, latency }) => (latency && latency.stages.length > 0 ? [{ name, stages: latency.stages }] : [])),
        "Shares of client, network, queue and compute time; the numbers are in the table below.",
      ),
    ),
    table("Stages of a request", ["candidate and stage", "mean", "share of the mean", "share of the slowest 5 %"], rows),
  );
}

/** Operators by the time they take, in one model beside the other. */
export function profileSection({ profiles }: Verdict): string {
  const [first, second] = profiles;
  if (!first) return "";
  const ops = [...new Set(profiles.flatMap(({ operators }) => operators.map(({ op }) => op)))];
  const cell = (profile: typeof first, op: string): Cell => {
    const found = profile.operators.find((one) => one.op === op);
    const all = profile.operators.reduce((sum, { us }) => sum + us, 0);
    return number(
      found ? `${figure(found.us)} µs (${percent(found.us / all, 2)}, ${found.nodes} ${found.nodes === 1 ? "node" : "nodes"})` : "",
    );
  };
  const rows = ops.map((op) => [plain(op), ...profiles.map((profile) => cell(profile, op))]);
  const whole = [plain("one run, profiler included"), ...profiles.map(({ runUs }) => number(`${figure(runUs)} µs`))];
  return section(
    "profile-h",
    "Inside the model",
    paragraph(
      `One item in process, by operator, as the runtime optimised the graph${second ? "; what is missing on one side was replaced or fused" : ""}.`,
    ),
    frame(operatorsFigure(profiles)),
    table("Time of one run by operator", ["operator", ...profiles.map(({ name }) => name)], [...rows, whole]),
  );
}
