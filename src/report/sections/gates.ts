/** What the gates judged: finalists, latency, capacity, accuracy, cost. */
import type { CandidateVerdict, Gate, Verdict } from "../../decide/index.ts";
import { frontFigure } from "../figures/front.ts";
import { latencyFigure } from "../figures/latency.ts";
import { intervalRows } from "../figures/plot.ts";
import { bytes, figure, interval, metricValue, milliseconds, percent, rate, unknown, usd } from "../format.ts";
import { frame, list, number, paragraph, plain, section, table, type Cell } from "../markup.ts";

const gateWords = { pass: "✓ pass", fail: "✗ fails", "cannot-tell": "? open", "not-asked": "– not asked" } as const;
const gate = ({ result }: Gate): Cell => ({ text: gateWords[result], className: `n ${result}` });

const metricFigure =
  (candidate: CandidateVerdict): ((value: number) => string) =>
  (value) =>
    metricValue(candidate.accuracy?.metric ?? "", value);

const at = (candidate: CandidateVerdict, wanted: number): string => {
  const found = candidate.latency?.percentiles.find(({ percentile }) => percentile === wanted);
  return found ? milliseconds(found.ms) : unknown;
};

export function finalistsTable(verdict: Verdict): string {
  const targets = verdict.candidates[0]?.latency?.percentiles.filter(({ targetMs }) => targetMs !== null) ?? [];
  const shown =
    targets.length > 0
      ? targets.map(({ percentile, targetMs }) => ({ percentile, head: `p${percentile} (≤ ${figure(targetMs)} ms)` }))
      : [50, 99].map((percentile) => ({ percentile, head: `p${percentile}` }));
  const rows = verdict.candidates.map((candidate) => {
    const { accuracy, capacity, cost } = candidate;
    const row = [
      plain(candidate.name),
      gate(candidate.performance),
      gate(candidate.accuracyGate),
      ...shown.map(({ percentile }) => number(at(candidate, percentile))),
      number(capacity && capacity.lowPerSecond > 0 ? rate(capacity.lowPerSecond) : unknown),
      number(cost ? usd(cost.perMillionGoodUsd.value) : "unknown"),
      number(candidate.cpuMsPerRequest ? milliseconds(candidate.cpuMsPerRequest.value) : unknown),
      number(accuracy ? metricFigure(candidate)(accuracy.value.value) : unknown),
    ];
    return Object.assign(row, { proposed: candidate.id === verdict.answer.candidate });
  });
  return `<div id="finalists">${table("Finalists, measured end to end", ["candidate", "targets", "accuracy gate", ...shown.map(({ head }) => head), "capacity", "$ per million good", "CPU per request", "accuracy"], rows)}</div>`;
}

export function latencySection({ candidates }: Verdict): string {
  const measured = candidates.filter(({ latency }) => latency);
  const distributions = candidates.flatMap(({ name, latency }, series) =>
    latency ? [{ name, series, curve: latency.curve, intervals: latency.percentiles }] : [],
  );
  const limits = new Map(
    measured.flatMap(({ latency }) =>
      latency!.percentiles.flatMap(({ percentile, targetMs }) => (targetMs === null ? [] : [[percentile, targetMs] as const])),
    ),
  );
  const rows = measured.flatMap(({ name, latency }) =>
    latency!.percentiles.map((one) => [
      plain(`${name} · p${one.percentile}`),
      number(interval({ value: one.ms, low: one.low, high: one.high }, milliseconds)),
      number(one.certifiedMs === null ? "too few requests" : `≤ ${milliseconds(one.certifiedMs)}`),
      number(milliseconds(one.withoutStallsMs)),
      number(one.targetMs === null ? "none" : milliseconds(one.targetMs)),
    ]),
  );
  const counted = measured.map(({ name, latency }) => [
    plain(name),
    number(figure(latency!.requests, 6)),
    number(figure(latency!.runs)),
    number(interval(latency!.success, (value) => percent(value, 5))),
    plain(
      Object.entries(latency!.ledger)
        .map(([what, n]) => `${what} ${n}`)
        .join(", "),
    ),
  ]);
  const [first] = measured;
  if (!first) return "";
  return section(
    "latency-h",
    `Latency at ${figure(first.latency!.ratePerSecond)} requests/s`,
    paragraph(
      "From when a request was due to its last byte, over every scheduled request of the valid runs; a timeout counts as its limit. Bars are 95 % intervals.",
    ),
    frame(
      latencyFigure(
        distributions,
        [...limits].map(([percentile, ms]) => ({ percentile, ms })),
        "Each finalist's latency by percentile, with 95 % intervals and targets; the numbers are in the table below.",
      ),
    ),
    table(
      "Percentiles, with 95 % intervals and the bound certified at 99 %",
      ["candidate", "value", "certified", "without host stalls", "target"],
      rows,
    ),
    table("What became of every request", ["candidate", "scheduled", "runs", "success ratio", "outcomes"], counted),
  );
}

export function capacitySection({ candidates }: Verdict): string {
  const rows = candidates.flatMap(({ name, capacity }, series) =>
    capacity && capacity.lowPerSecond > 0
      ? [{ name, value: capacity.lowPerSecond, low: capacity.lowPerSecond, high: capacity.highPerSecond, series }]
      : [],
  );
  const limits = {
    target: "a target fails above",
    generator: "the generator's limit",
    "host-stalls": "host stalls hide what is above",
    budget: "the budget ended",
    "search-end": "the search ended",
  } as const;
  const cells = candidates.map(({ name, capacity }) =>
    capacity
      ? [
          plain(name),
          number(capacity.lowPerSecond > 0 ? rate(capacity.lowPerSecond) : "no rate passed"),
          number(capacity.highPerSecond === null ? "not found" : rate(capacity.highPerSecond)),
          plain(limits[capacity.limit] + (capacity.monotone ? "" : "; not monotone: a higher rate passed")),
          plain(capacity.limitedBy ?? ""),
        ]
      : [plain(name), number(unknown), number(unknown), plain(""), plain("")],
  );
  const svg =
    rows.length === 0
      ? ""
      : intervalRows(
          "capacity",
          "Capacity of one replica",
          "Highest rate at which every target held, up to the lowest rate that failed; the numbers are in the table below.",
          rows,
          { label: "requests per second" },
        );
  return section(
    "capacity-h",
    "Capacity of one replica",
    paragraph(
      "The highest rate at which every target held in every visit. The line reaches to the lowest rate that certainly failed; an arrow means that none was found.",
    ),
    frame(svg),
    table("Capacity", ["candidate", "all targets hold", "fails at", "bounded by", "what fails first"], cells),
  );
}

export function accuracySection({ candidates }: Verdict): string {
  const compared = candidates.flatMap((candidate, series) =>
    candidate.accuracy?.difference ? [{ name: candidate.name, ...candidate.accuracy.difference, series }] : [],
  );
  const [first] = candidates.filter(({ accuracy }) => accuracy);
  if (!first) return "";
  const { metric, margin, betterIs } = first.accuracy!;
  const worse = betterIs === "higher" ? -1 : 1;
  const svg =
    compared.length === 0
      ? ""
      : intervalRows(
          "accuracy",
          "Accuracy difference to the baseline",
          "Difference to the baseline with its 95 % interval; the line is the largest drop allowed.",
          compared,
          {
            label: `${metric}, candidate − baseline`,
            show: (value) => metricValue(metric, value, 3),
            lines: [{ at: 0, text: "same" }, ...(margin === null ? [] : [{ at: worse * margin, text: "limit" }])],
          },
        );
  const rows = candidates.map((candidate) => {
    const { accuracy } = candidate;
    const show = metricFigure(candidate);
    return [
      plain(candidate.name),
      gate(candidate.accuracyGate),
      number(interval(accuracy?.value ?? null, show)),
      number(accuracy?.difference ? interval(accuracy.difference, show) : candidate.role === "baseline" ? "is the baseline" : unknown),
      number(accuracy?.agreement == null ? "" : percent(accuracy.agreement, 4)),
      number(accuracy ? figure(accuracy.items, 6) : ""),
      plain(accuracy ? accuracy.batches.map(([size, n]) => `${size}: ${n}`).join(", ") : ""),
    ];
  });
  const worst = (found: { value: number | null; item: number } | null): string =>
    found === null ? unknown : `${found.value === null ? "no bound" : figure(found.value, 5)} (item ${found.item})`;
  const near = candidates.flatMap(({ name, accuracy }) => {
    if (!accuracy?.closeness) return [];
    const { reference, cosine, relativeL2, maxAbs, p999Abs } = accuracy.closeness;
    return [
      [
        plain(name),
        plain(reference),
        number(worst(cosine)),
        number(worst(relativeL2)),
        number(worst(maxAbs)),
        number(p999Abs === null ? unknown : figure(p999Abs, 3)),
      ],
    ];
  });
  const nearTable =
    near.length === 0
      ? ""
      : table(
          "The answers themselves beside those of the same model unchanged, worst item",
          ["candidate", "beside", "cosine", "relative difference", "one number", "one number, p99.9"],
          near,
        );
  return section(
    "accuracy-h",
    "Accuracy on the holdout, through the served path",
    frame(svg),
    table(
      `${metric} and its difference to the baseline`,
      ["candidate", "gate", metric, "difference", "same answer", "items", "batch size: requests"],
      rows,
    ),
    nearTable,
    list(candidates.flatMap(({ name, accuracyGate }) => accuracyGate.reasons.map((reason) => `${name}: ${reason}`))),
  );
}

const confirmedWords = { yes: "confirmed on a fresh build", no: "not confirmed on a fresh build", "not-needed": "" } as const;

/** How the cost came about, and what else a reader must know. */
function remark({ name, cost, costUnknown, confirmed, notes }: CandidateVerdict): string {
  const basis = cost ? cost.basis : `cost unknown, ${costUnknown ?? "not measured"}`;
  return `${name}: ${[basis, confirmedWords[confirmed], ...notes].filter(Boolean).join("; ")}`;
}

export function costSection({ candidates, payBack }: Verdict): string {
  const front = frontFigure(candidates);
  const rows = candidates.map(({ name, cost, against, cpuMsPerRequest, peakMemoryBytes }) => [
    plain(name),
    number(cost ? interval(cost.perMillionGoodUsd, usd) : "unknown"),
    number(interval(cpuMsPerRequest, milliseconds)),
    number(bytes(peakMemoryBytes)),
    number(against ? interval(against.latency, (value) => figure(value)) : ""),
    number(against ? interval(against.cpu, (value) => figure(value)) : ""),
  ]);
  return section(
    "cost-h",
    "Latency and cost",
    front?.by === "cpu" ? paragraph("No price is known for all finalists: CPU time stands for cost.") : "",
    frame(front?.svg ?? ""),
    table(
      "Cost, CPU, memory, and ratios to the baseline in paired blocks",
      ["candidate", "$ per million good", "CPU per request", "peak memory", "× median latency", "× CPU time"],
      rows,
    ),
    list([...(payBack ? [payBack.sentence] : []), ...candidates.map(remark)]),
  );
}
