/** Forms in which a run against endpoints leaves for other tools; a new one is a file and a line here. */
import type { EndpointRun } from "../../../bench/index.ts";
import { recordsToArrow } from "../../../load/index.ts";
import { toCsv } from "./csv.ts";
import { toHdr } from "./hdr.ts";
import { toJUnit } from "./junit.ts";
import { toMarkdown } from "./markdown.ts";
import { toOtlp } from "./otlp.ts";
import { toPrometheus } from "./prometheus.ts";

export const endpointExports = {
  csv: { what: "a row for each figure of each visit", write: toCsv },
  arrow: {
    what: "every request, an Arrow IPC stream",
    write: ({ visits }: EndpointRun): Uint8Array => recordsToArrow(visits.map(({ table }) => table)),
  },
  prometheus: { what: "text format: gauges, outcomes, histograms", write: toPrometheus },
  otlp: { what: "OpenTelemetry metrics as OTLP/JSON, by the GenAI conventions", write: toOtlp },
  hdr: { what: "HdrHistogram log", write: toHdr },
  junit: { what: "JUnit XML for CI", write: toJUnit },
  markdown: { what: "for a pull request", write: toMarkdown },
} as const satisfies Record<string, { what: string; write: (run: EndpointRun) => string | Uint8Array }>;
export type EndpointExport = keyof typeof endpointExports;
