/** The folder of a run against endpoints: its report, checked, exported, compared. */
import { join, resolve } from "node:path";
import { changedFields } from "../../artifact/index.ts";
import { AssayError } from "../../base/index.ts";
import { compareRuns, endpointDocument, isEndpointRun, loadEndpointRun, type EndpointRun } from "../../bench/index.ts";
import { writeWhole } from "../../host/index.ts";
import { endpointExports, renderEndpoint, renderEndpointHtml, renderRunComparison, type EndpointExport } from "../../report/index.ts";
import { reportName, shownPath } from "../run-folder.ts";
import { endpointFailKinds, endpointStatus } from "./status.ts";

export interface EndpointExchange {
  markdown?: string;
  junit?: string;
  failOn?: string;
}

/** Writes the report beside the records, and what other tools were promised. */
export function publishEndpoint(folder: string, run: EndpointRun, { markdown, junit }: EndpointExchange): void {
  if (run.visits.length > 0) writeWhole(join(folder, reportName), renderEndpointHtml(run));
  if (markdown !== undefined) writeWhole(resolve(markdown), endpointExports.markdown.write(run));
  if (junit !== undefined) writeWhole(resolve(junit), endpointExports.junit.write(run));
}

/** Draws the report again from the records. Returns the exit status and where the report is. */
export function reportEndpoint(folder: string, exchange: EndpointExchange): { status: number; report: string } {
  const failOn = endpointFailKinds(exchange.failOn);
  const { found } = loadEndpointRun(folder);
  publishEndpoint(folder, found, exchange);
  process.stdout.write(renderEndpoint(found, shownPath(folder)));
  return { status: endpointStatus(found, failOn), report: join(folder, reportName) };
}

/** Computes the figures again from the records. Throws RUN_MISMATCH naming what differs. */
export function verifyEndpoint(folder: string): number {
  const { found, stored } = loadEndpointRun(folder);
  const changed = changedFields(stored, endpointDocument(found));
  if (changed.length > 0)
    throw new AssayError("RUN_MISMATCH", `the stored figures differ from what the records give in: ${changed.slice(0, 20).join(", ")}`);
  const requests = found.visits.reduce((sum, { table }) => sum + table.length, 0);
  process.stdout.write(`The records give the stored figures. ${requests} requests checked.\n`);
  return 0;
}

const formats = Object.keys(endpointExports) as EndpointExport[];

/** `assay export`: the run in a form of other tools, to a file or to standard output. */
export function runExport(path: string, { format, out }: { format: string; out?: string }): number {
  const name = formats.find((one) => one === format);
  if (!name) throw new AssayError("USAGE", `--format ${format}: the formats are ${formats.join(", ")}`);
  const folder = resolve(path);
  if (!isEndpointRun(folder))
    throw new AssayError(
      "USAGE",
      `${path} is the run of a decision: assay report ${path} --markdown FILE --junit FILE, and verdict.json in it`,
    );
  const content = endpointExports[name].write(loadEndpointRun(folder).found);
  if (out === undefined) process.stdout.write(content);
  else writeWhole(resolve(out), content);
  return 0;
}

/** Compares runs that were made by themselves; returns 0 when every figure is told apart or alike, 4 when some are open. */
export function compareEndpoints(first: readonly string[], second: readonly string[], json: boolean): number {
  const load = (paths: readonly string[]): EndpointRun[] => paths.map((path) => loadEndpointRun(resolve(path)).found);
  const comparison = compareRuns(load(first), load(second));
  process.stdout.write(json ? `${JSON.stringify(comparison, undefined, 2)}\n` : renderRunComparison(comparison));
  return comparison.figures.every(({ moreRuns }) => moreRuns === 0) ? 0 : 4;
}
