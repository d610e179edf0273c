/** The report of a run against endpoints: one HTML file, the same bytes for the same records. */
import { describeEndpoint, describeLoad, rateOf, type EndpointRun, type EndpointVisit } from "../../bench/index.ts";
import { curvesOf, phasesOf, seriesOf, type Slice } from "../../load/index.ts";
import { latencyFigure } from "../figures/latency.ts";
import { panelsFigure, type Panel } from "../figures/panels.ts";
import { intervalRows } from "../figures/plot.ts";
import { ratesFigure, type RateLine } from "../figures/rates.ts";
import { stagesFigure } from "../figures/stages.ts";
import { escape, figure, milliseconds, percent } from "../format.ts";
import { frame, list, number, paragraph, plain, section, table, type Cell } from "../markup.ts";
import { page } from "../page.ts";
import {
  byRate,
  capacityLines,
  differenceRows,
  headline,
  metricRows,
  percentileName,
  shownValue,
  sides,
  standingLines,
  visitNotes,
  visitRows,
  type Rows,
} from "./words.ts";

/** Rows as a table; the columns named are words, the others figures. */
function shown(caption: string, [head, ...rows]: Rows, words: readonly number[] = []): string {
  const cell = (text: string, at: number): Cell => (at === 0 || words.includes(at) ? plain(text) : number(text));
  return rows.length === 0
    ? ""
    : table(
        caption,
        head!,
        rows.map((row) => row.map(cell)),
      );
}

const targetWords = { pass: "✓ met", fail: "✗ missed", "cannot-tell": "? open" } as const;

function targetsTable({ figures }: EndpointVisit): string {
  const rows = figures.targets.map(({ tag, p, limit, result, reason }) => [
    plain(`${tag}.${percentileName(p)}`),
    number(figure(limit, 6)),
    { text: targetWords[result], className: `n ${result}` },
    plain(reason),
  ]);
  return rows.length === 0 ? "" : table("Targets", ["metric", "at most", "result", "why"], rows);
}

function distribution({ table: records, figures }: EndpointVisit): string {
  const curves = curvesOf(records);
  const own = new Set(curves.map(({ tag }) => tag));
  return latencyFigure(
    curves.map(({ tag, title, curve }, series) => ({
      name: `${title} (${tag})`,
      series,
      curve,
      intervals: figures.metrics
        .find((metric) => metric.tag === tag)!
        .percentiles.map(({ p, low, high }) => ({ percentile: 100 * p, low, high })),
    })),
    figures.targets.filter(({ tag }) => own.has(tag)).map(({ tag, p, limit }) => ({ percentile: 100 * p, ms: limit, of: tag })),
    "Latencies by percentile with 95 % intervals, and targets; the numbers are in the table above.",
  );
}

function panelsOf(slices: readonly Slice[]): Panel[] {
  const line = (name: string, series: number, of: (slice: Slice) => number | null): Panel["lines"][number] => ({
    name,
    series,
    values: slices.map(of),
  });
  const perSecond =
    (of: (slice: Slice) => number): ((slice: Slice) => number) =>
    (slice) =>
      (1000 * of(slice)) / slice.lengthMs;
  const tokens = slices.some((slice) => slice.tokens > 0);
  const failed = slices.some((slice) => slice.failed > 0);
  return [
    {
      label: "requests/s",
      lines: [
        line(
          "due",
          0,
          perSecond(({ scheduled }) => scheduled),
        ),
        line(
          "answered",
          2,
          perSecond(({ good }) => good),
        ),
        ...(failed
          ? [
              line(
                "failed",
                1,
                perSecond((slice) => slice.failed),
              ),
            ]
          : []),
      ],
    },
    {
      label: "milliseconds",
      log: true,
      lines: [
        ...(slices.some(({ ttft }) => ttft)
          ? [line("TTFT p50", 3, ({ ttft }) => ttft && ttft.p50), line("TTFT p95", 1, ({ ttft }) => ttft && ttft.p95)]
          : []),
        line("E2E p50", 0, ({ e2e }) => e2e && e2e.p50),
        line("E2E p95", 2, ({ e2e }) => e2e && e2e.p95),
      ],
    },
    { label: "in flight", lines: [line("mean", 5, ({ inFlight }) => inFlight)] },
    ...(tokens
      ? [
          {
            label: "output tokens/s",
            lines: [
              line(
                "arrived",
                4,
                perSecond((slice) => slice.tokens),
              ),
            ],
          },
        ]
      : []),
  ];
}

function series({ table: records, context }: EndpointVisit): string {
  const slices = seriesOf(records, context.windowMs);
  return panelsFigure(
    panelsOf(slices),
    slices.map(({ atMs, lengthMs }) => (atMs + lengthMs / 2) / 1000),
    context.windowMs / 1000,
    context.stalls.filter(([, length]) => length >= 1).map(([at, length]) => [at / 1000, length / 1000]),
  );
}

function phases({ table: records }: EndpointVisit): string {
  const found = phasesOf(records);
  const rows = found.map(({ phase, meanMs, shareOfMean, shareAboveP95 }) => [
    plain(phase),
    number(milliseconds(meanMs)),
    number(percent(shareOfMean)),
    number(percent(shareAboveP95)),
  ]);
  return section(
    "phases-h",
    "Where the time of a request goes",
    paragraph(
      "By the client's clock: the generator's own lag, the wait for a connection (opening it included), until the first byte, the first token, the last token, the end. Only good requests.",
    ),
    frame(
      stagesFigure(
        found.length === 0 ? [] : [{ name: "requests", stages: found.map(({ phase, ...shares }) => ({ stage: phase, ...shares })) }],
        "Shares of the phases; the numbers are in the table below.",
      ),
    ),
    rows.length === 0 ? "" : table("Phases", ["phase", "mean", "share of the mean", "share of the slowest 5 %"], rows),
  );
}

/** Everything that one visit tells. */
const visitSections = (run: EndpointRun, visit: EndpointVisit): string =>
  [
    section(
      "figures-h",
      "Figures",
      targetsTable(visit),
      shown("Metrics", metricRows(visit.figures), [1]),
      list(visitNotes(run.question, visit)),
    ),
    section(
      "distribution-h",
      "Distributions",
      paragraph("Over every scheduled request: where a line ends early, the rest brought nothing. Bars are 95 % intervals."),
      frame(distribution(visit)),
    ),
    section("series-h", "Over the time", frame(series(visit))),
    phases(visit),
  ].join("\n");

function rateLines(visits: readonly EndpointVisit[], tags: readonly string[]): RateLine[] {
  return tags
    .flatMap((tag) => [0.5, 0.99].map((p) => ({ tag, p })))
    .map(({ tag, p }, k) => ({
      name: `${tag.toUpperCase()} ${percentileName(p)}`,
      series: k,
      points: visits.flatMap((visit) => {
        const [ratePerSecond, ms] = [rateOf(visit.load), shownValue(visit, tag, p)];
        return ratePerSecond === null || ms === null || ms <= 0 ? [] : [{ ratePerSecond, ms }];
      }),
    }))
    .filter(({ points }) => points.length > 0);
}

function ratesSection({ question, visits }: EndpointRun, lines: readonly string[]): string {
  const tags = visits.some((visit) => shownValue(visit, "ttft", 0.5) !== null) ? ["ttft", "e2e"] : ["e2e"];
  const limits = question.targets
    .filter(({ tag }) => tag === "ttft" || tag === "e2e")
    .map(({ tag, p, limit }) => ({ ms: limit, text: `${tag}.${percentileName(p)} at most ${figure(limit)} ms` }));
  return section(
    "rates-h",
    "By rate",
    list(lines),
    frame(ratesFigure(rateLines(visits, tags), limits)),
    shown("Visits by rate", visitRows(byRate(visits)), [visitRows(visits)[0]!.length - 1]),
  );
}

function againstSection({ question, visits, conclusion }: EndpointRun): string {
  if (conclusion.kind !== "against") return "";
  const rows = conclusion.differences.flatMap(({ what, ratio }, at) => (ratio ? [{ name: what, ...ratio, series: at }] : []));
  const svg =
    rows.length === 0
      ? ""
      : intervalRows("ratios", "Second ÷ first", "Ratios of the second endpoint's figures to the first's with 95 % intervals.", rows, {
          label: "second ÷ first",
          log: true,
          lines: [{ at: 1, text: "the same" }],
        });
  return [
    section(
      "against-h",
      "Second against first",
      paragraph("Paired visits on the same work, in turns. Below 1 the second's figure is the smaller."),
      frame(svg),
      shown("Differences", differenceRows(conclusion.differences), [1, 5]),
    ),
    ...question.endpoints.map((endpoint, at) => {
      const own = visitRows(visits.filter((visit) => visit.endpoint === at));
      return section(
        `side-${at}`,
        `${sides[at]!}: ${describeEndpoint(endpoint)}`,
        shown(`Visits of the ${sides[at]!} in order`, own, [own[0]!.length - 1]),
      );
    }),
  ].join("\n");
}

function body(run: EndpointRun): string {
  const { visits, conclusion } = run;
  if (visits.length === 0) return "";
  switch (conclusion.kind) {
    case "one":
      return visitSections(run, visits[0]!);
    case "sweep":
      return ratesSection(run, []);
    case "capacity":
      return ratesSection(run, capacityLines(conclusion));
    case "against":
      return againstSection(run);
  }
}

const record = ({ question, visits }: EndpointRun): string =>
  section(
    "record-h",
    "What was asked",
    list([
      ...visits.map((visit, k) => `visit ${k + 1}, ${visit.startedAt}: ${describeLoad(visit.load)}: ${standingLines(visit).join("; ")}`),
      `root seed: ${question.seed}`,
    ]),
    `<details><summary>The question in full</summary><pre>${escape(JSON.stringify(question, undefined, 2))}</pre></details>`,
    paragraph("assay verify with this folder computes every figure again from the records."),
  );

/** Renders the whole file. */
export function renderEndpointHtml(run: EndpointRun): string {
  const { sentence, text, className } = headline(run);
  const [first] = run.visits;
  const standing = first && run.conclusion.kind === "one" ? standingLines(first) : [];
  return page({
    title: sentence,
    what: `Assay · measured at ${run.question.endpoints.map((endpoint) => `<strong>${escape(describeEndpoint(endpoint))}</strong>`).join(" and ")}`,
    sentence,
    kind: { text, className },
    next: standing.length > 0 ? `<p class="soft">${escape(`${describeLoad(first!.load)} · ${standing.join("; ")}`)}</p>` : "",
    skip: { id: "main", name: "the figures" },
    body: `<div id="main">${body(run)}</div>\n${record(run)}`,
  });
}
