import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { verdictSchema, type Verdict } from "../decide/index.ts";
import { renderJUnit, renderMarkdown } from "./exchange.ts";

const real = verdictSchema.parse(JSON.parse(readFileSync(new URL("../../test/fixtures/verdict.json", import.meta.url), "utf8")));
const changed = (change: (verdict: Verdict) => void): Verdict => {
  const copy = structuredClone(real);
  change(copy);
  return copy;
};

describe("the verdict for other tools", () => {
  it("is a Markdown table with a row a finalist, the proposed one in bold", () => {
    const lines = renderMarkdown(real).split("\n");
    const rows = lines.filter((line) => line.startsWith("| "));
    expect(rows).toHaveLength(1 + real.candidates.length);
    expect(rows.every((row) => row.split(/(?<!\\)\|/).length === 9)).toBe(true);
    expect(rows.filter((row) => row.includes("**")).join()).toContain(real.answer.name!);
    expect(renderMarkdown(changed(({ candidates }) => (candidates[1]!.name = "a|b\nc")))).toContain("a\\|b c");
  });
  it("is JUnit XML whose counts are those of its cases", () => {
    const xml = renderJUnit(real);
    const count = (pattern: RegExp): number => xml.match(pattern)?.length ?? 0;
    expect(count(/<testcase /g)).toBe(1 + 2 * real.candidates.length);
    expect(xml).toMatch(
      new RegExp(`tests="${count(/<testcase /g)}" failures="${count(/<failure /g)}" errors="0" skipped="${count(/<skipped /g)}"`),
    );
    expect(count(/<failure /g)).toBe(0);
  });
  it("fails in JUnit when nothing meets the targets; a challenger that fails is a finding", () => {
    const fail = { result: "fail" as const, reasons: ["p99 is 5 ms, <target> 1 ms\u0001"] };
    expect(renderJUnit(changed(({ candidates }) => (candidates[1]!.performance = fail)))).toMatch(/failures="0"/);
    const none = changed((verdict) => {
      Object.assign(verdict.answer, { kind: "none-meets", candidate: null });
      verdict.candidates[0]!.performance = fail;
    });
    expect(renderJUnit(none)).toMatch(/failures="2"/);
    expect(renderJUnit(none)).toContain("&lt;target&gt; 1 ms\uFFFD");
  });
});
