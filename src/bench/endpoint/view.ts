/** A run against endpoints as its folder keeps it: read again, its figures computed from the records. */
import { join } from "node:path";
import { AssayError, type Json } from "../../base/index.ts";
import { checkFiles, readJournal } from "../../evidence/index.ts";
import { readRecords } from "../../load/index.ts";
import { conclude, type Conclusion } from "./design.ts";
import { endpointQuestionSchema, type EndpointQuestion } from "./question.ts";
import { summariseVisit, visitSchema, type EndpointVisit } from "./visit.ts";

export interface EndpointRun {
  question: EndpointQuestion;
  visits: EndpointVisit[];
  conclusion: Conclusion;
}

/** The steps of a journal that such a run leaves. */
export const questionKind = "bench";
export const visitKind = "bench-visit";
export const endKind = "bench-end";

/** A visit and its figures; the same records give the same. */
export function visitBody({ endpoint, load, startedAt, durationMs, context, server, run, figures }: EndpointVisit): Json {
  const { latencyMs: _, calmLatencyMs: __, stages, ...rest } = run;
  return JSON.parse(JSON.stringify({ endpoint, load, startedAt, durationMs, context, server, run: { ...rest, stages }, figures })) as Json;
}

/** The run as one document. */
export const endpointDocument = ({ question, visits, conclusion }: EndpointRun): Json =>
  JSON.parse(JSON.stringify({ question, visits: visits.map(visitBody), conclusion })) as Json;

/** Whether the folder holds a run against endpoints. Throws RUN_UNREADABLE. */
export const isEndpointRun = (folder: string): boolean => readJournal(folder).entries[0]?.kind === questionKind;

/** Reads a run again, its files checked; `stored` is the document as it was written then. Throws RUN_UNREADABLE, RUN_MISMATCH. */
export function loadEndpointRun(folder: string): { found: EndpointRun; stored: Json } {
  const { entries } = readJournal(folder);
  checkFiles(folder, entries);
  const asked = endpointQuestionSchema.safeParse(entries[0]?.body);
  if (!asked.success) throw new AssayError("RUN_UNREADABLE", `${folder}: its journal does not tell what was asked`);
  const question = asked.data;
  const steps = entries.filter(({ kind }) => kind === visitKind);
  const visits = steps.map(({ body, files: [file] }) => {
    const visit = visitSchema.safeParse(body);
    if (!visit.success || !file) throw new AssayError("RUN_UNREADABLE", `${folder}: its journal does not tell what was measured`);
    return summariseVisit(question, visit.data, readRecords(join(folder, file.path)));
  });
  if (visits.length === 0) throw new AssayError("RUN_UNREADABLE", `${folder}: nothing was measured in it`);
  const end = entries.find(({ kind }) => kind === endKind);
  const found = { question, visits, conclusion: conclude(question, visits) };
  // A run that was killed has no end: what it measured stands all the same.
  const conclusion = end ? end.body : (JSON.parse(JSON.stringify(found.conclusion)) as Json);
  return { found, stored: { question: entries[0]!.body, visits: steps.map(({ body }) => body), conclusion } };
}
