/** workload.yaml → a workload, or every fault at once with its place. */
import { isAlias, isCollection, isMap, isPair, isScalar, LineCounter, parseDocument, visit, type Document, type Node } from "yaml";
import { z } from "zod";
import { checkMeaning } from "./meaning.ts";
import { nearestName, type Fault } from "./faults.ts";
import { spaceSchema, workloadSchema, type Workload } from "./schema.ts";

const mostBytes = 1024 * 1024;

export interface Parsed {
  /** Null when there are faults. */
  workload: Workload | null;
  faults: Fault[];
  /** Fields that this version does not act on. */
  notUsed: { path: string; why: string }[];
}

type Path = readonly PropertyKey[];
const dotted = (path: Path): string =>
  path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
const shown = (value: unknown): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
};

interface SchemaNode {
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  additionalProperties?: SchemaNode | boolean;
  $ref?: string;
  $defs?: Record<string, SchemaNode>;
}

/** Names that the schema knows at a path. */
function namesAt(root: SchemaNode, path: Path): string[] {
  let nodes = [root.$defs?.[root.$ref?.split("/").at(-1) ?? ""] ?? root];
  for (const part of path) {
    nodes = nodes
      .flatMap((node) => [node, ...(node.anyOf ?? [])])
      .flatMap((node) => {
        if (typeof part === "number") return node.items ? [node.items] : [];
        const next =
          node.properties?.[String(part)] ?? (typeof node.additionalProperties === "object" ? node.additionalProperties : undefined);
        return next ? [next] : [];
      });
  }
  return nodes.flatMap((node) => [node, ...(node.anyOf ?? [])]).flatMap((node) => Object.keys(node.properties ?? {}));
}

/** The place of a path in the text; of the key itself when `key` is given, else of the deepest node that exists. */
function placeOf(document: Document, counter: LineCounter, path: Path, key?: string): { line: number; column: number } {
  let node: unknown = document.contents;
  let range: readonly number[] | null | undefined = (node as Node | null)?.range;
  for (const part of key === undefined ? path : [...path, key]) {
    if (!isCollection(node)) break;
    const pair = isMap(node)
      ? node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(part))
      : undefined;
    if (pair && isScalar(pair.key)) range = pair.key.range;
    node = node.get(part, true);
    if (!pair && node) range = (node as Node).range;
    if (node === undefined) break;
  }
  const { line, col } = counter.linePos(range?.[0] ?? 0);
  return { line, column: col };
}

/** The parts of an issue that say what was expected, in words. */
function expectedOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "record" || issue.expected === "object" ? "fields below it" : `a ${issue.expected}`;
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(", ");
    case "too_small":
      return `${issue.inclusive ? "at least" : "more than"} ${String(issue.minimum)}`;
    case "too_big":
      return `at most ${String(issue.maximum)}`;
    default:
      return issue.message;
  }
}

const issueMessage: Partial<Record<z.core.$ZodIssue["code"], string>> = {
  invalid_type: "wrong type",
  invalid_value: "unknown value",
  too_small: "too small",
  too_big: "too big",
  invalid_union: "fits none of its forms",
};

function faultsOfIssue(issue: z.core.$ZodIssue, document: Document, counter: LineCounter, schema: SchemaNode): Fault[] {
  const { path } = issue;
  const value = document.getIn(path as unknown[]);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const nearest = nearestName(key, namesAt(schema, path));
      const known = namesAt(schema, path).join(", ");
      return {
        ...placeOf(document, counter, path, key),
        path: dotted([...path, key]),
        message: "unknown field",
        found: shown(key),
        expected: known,
        ...(nearest && { nearest }),
      };
    });
  }
  if (issue.code === "invalid_union") {
    // The form that fits best tells the user most.
    const forms = issue.errors.map((errors) => errors.map((inner) => ({ ...inner, path: [...path, ...inner.path] }) as z.core.$ZodIssue));
    const deepest = forms.filter((form) => form.some((inner) => inner.path.length > path.length || inner.code === "unrecognized_keys"));
    const [best] = deepest.sort((a, b) => a.length - b.length);
    if (best) return best.flatMap((inner) => faultsOfIssue(inner, document, counter, schema));
    const expected = forms.map((form) => form.map(expectedOf).join(" and ")).join(", or ");
    const missing = value === undefined;
    const place = { ...placeOf(document, counter, path), path: dotted(path), expected };
    return [{ ...place, message: missing ? "missing" : "wrong value", found: missing ? "" : shown(value) }];
  }
  if (issue.code === "invalid_key") {
    const key = String(path.at(-1));
    return [
      {
        ...placeOf(document, counter, path.slice(0, -1), key),
        path: dotted(path),
        message: "wrong name",
        found: shown(key),
        expected: "a percentile such as p99 or p99.9",
      },
    ];
  }
  const nearest = issue.code === "invalid_value" && typeof value === "string" ? nearestName(value, issue.values.map(String)) : undefined;
  const missing = value === undefined && issue.code === "invalid_type";
  const plain = isScalar(value) ? value.value : value;
  return [
    {
      ...placeOf(document, counter, path),
      path: dotted(path),
      message: missing ? "missing" : (issueMessage[issue.code] ?? "wrong value"),
      found: missing ? "" : shown(plain && typeof plain === "object" ? (isCollection(plain) ? plain.toJSON() : plain) : plain),
      expected: expectedOf(issue),
      ...(nearest && { nearest }),
    },
  ];
}

/** Faults of the text itself, before its fields are looked at. */
function textFaults(text: string): Fault[] {
  const at = (index: number): { line: number; column: number } => {
    const before = text.slice(0, index).split("\n");
    return { line: before.length, column: before.at(-1)!.length + 1 };
  };
  const faults: Fault[] = [];
  const fault = (index: number, message: string, found: string, expected: string): void =>
    void faults.push({ ...at(index), path: "", message, found, expected });
  if (text.length > mostBytes) fault(0, "the file is too large", `${text.length} characters`, `at most ${mostBytes}`);
  else {
    if (text.startsWith("\uFEFF")) fault(0, "the file starts with a byte order mark", "U+FEFF", "plain UTF-8");
    const nul = text.indexOf("\0");
    if (nul >= 0) fault(nul, "the file holds a NUL character", "U+0000", "text");
    const tab = /^ *\t/m.exec(text);
    if (tab) fault(tab.index, "a line is indented with a tab", "a tab", "spaces");
  }
  return faults;
}

interface Read<T> {
  /** Null when there are faults. */
  value: T | null;
  faults: Fault[];
  place: (path: Path) => { line: number; column: number };
}

/** Reads YAML 1.2 of one form: plain values, no aliases and no tags. */
function readYaml<T>(text: string, schema: z.ZodType<T>): Read<T> {
  const counter = new LineCounter();
  const nowhere = (): { line: number; column: number } => ({ line: 0, column: 0 });
  const broken = textFaults(text);
  if (broken.length > 0) return { value: null, faults: broken, place: nowhere };
  const document = parseDocument(text, {
    lineCounter: counter,
    uniqueKeys: true,
    version: "1.2",
    prettyErrors: false,
    maxAliasCount: 0,
  } as never);
  const faults: Fault[] = document.errors.map((error) => {
    const { line, col } = counter.linePos(error.pos[0]);
    const duplicate = error.code === "DUPLICATE_KEY";
    return {
      line,
      column: col,
      path: "",
      message: duplicate ? "a field comes twice" : `no YAML: ${error.message}`,
      found: "",
      expected: "",
    };
  });
  for (const warning of document.warnings) {
    const { line, col } = counter.linePos(warning.pos[0]);
    faults.push({ line, column: col, path: "", message: "tags are not read", found: text.slice(...warning.pos), expected: "plain values" });
  }
  visit(document, {
    Node(_, node) {
      const { line, col } = counter.linePos(node.range?.[0] ?? 0);
      const place = { line, column: col, path: "", found: "", expected: "plain values" };
      if (isAlias(node)) faults.push({ ...place, message: "aliases are not read", found: `*${node.source}` });
    },
  });
  const place = (path: Path): { line: number; column: number } => placeOf(document, counter, path);
  if (faults.length > 0) return { value: null, faults, place };
  const parsed = schema.safeParse(document.toJS() as unknown);
  if (parsed.success) return { value: parsed.data, faults, place };
  const names = z.toJSONSchema(schema, { io: "input" }) as SchemaNode;
  const found = parsed.error.issues.flatMap((issue) => faultsOfIssue(issue, document, counter, names));
  return { value: null, faults: found.sort((a, b) => a.line - b.line || a.column - b.column), place };
}

/** Parses a workload file. Never throws on bad text: every fault is listed. */
export function parseWorkload(text: string): Parsed {
  const { value, faults, place } = readYaml(text, workloadSchema);
  if (!value) return { workload: null, faults, notUsed: [] };
  const { faults: meant, notUsed } = checkMeaning(value);
  const placed = meant.map(({ path, ...fault }) => ({ ...place(path), path: dotted(path), ...fault }));
  return { workload: placed.length > 0 ? null : value, faults: placed, notUsed };
}

/** Parses a file that holds a space of candidates alone, in the form of `search`. */
export function parseSpace(text: string): { space: Workload["search"] | null; faults: Fault[] } {
  const { value, faults } = readYaml(text, spaceSchema);
  return { space: value, faults };
}
