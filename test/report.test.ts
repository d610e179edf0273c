import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chromium } from "playwright-core";
import { verdictSchema, type Verdict } from "../src/decide/index.ts";
import { renderEndpointHtml, renderHtml, renderTerminal } from "../src/report/index.ts";
import { endpointRun } from "./fixtures/endpoint-run.ts";

const real = verdictSchema.parse(JSON.parse(readFileSync(new URL("fixtures/verdict.json", import.meta.url), "utf8")));
const evil = `<script>alert("x")</script>'&`;
/** Everything null that may be, and names from a hostile file. */
const bare: Verdict = {
  ...real,
  answer: {
    kind: "cannot-tell",
    candidate: null,
    name: null,
    sentence: `Cannot tell: ${evil}`,
    next: "Measure more.",
    reasons: [evil],
    moreRuns: 7,
  },
  smallestDifference: { ratio: null, sentence: "No two candidates were measured side by side." },
  workload: { ...real.workload, name: evil, ratePerSecond: null },
  candidates: real.candidates.slice(0, 1).map((one) => ({
    ...one,
    name: evil,
    artifact: null,
    latency: null,
    capacity: null,
    cpuMsPerRequest: null,
    peakMemoryBytes: null,
    cost: null,
    costUnknown: evil,
    accuracy: null,
    against: null,
    notes: [evil],
  })),
  screening: [],
  builds: [],
  runs: [],
};
const all: [string, Verdict][] = [
  ["a real verdict", real],
  ["one of nothing but unknowns", bare],
];

describe.each(all)("the report of %s", (_, verdict) => {
  const html = renderHtml(verdict);
  const text = renderTerminal(verdict, { colour: false, columns: 80, reportPath: null });
  it("holds no figure that is none, and no outside request", () => {
    for (const shown of [html, text]) expect(shown).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect(html).not.toMatch(/(src|href)="(?!#)|url\(|@import|<script/);
  });
  it("is the same each time", () => expect(renderHtml(JSON.parse(JSON.stringify(verdict)) as Verdict)).toBe(html));
  it("says the answer and every finalist", () => {
    expect(text.replace(/\s+/g, " ")).toContain(verdict.answer.sentence.replace(/\s+/g, " "));
    for (const { name } of verdict.candidates) expect(text).toContain(name);
  });
  it("fits the terminal", () => {
    const long = text.split("\n").filter((line) => line.length > 80 && !line.includes(evil));
    expect(long).toEqual([]);
  });
  it("has a cell for every head of its tables", () => {
    for (const [table] of html.matchAll(/<table>.*?<\/table>/gs)) {
      const columns = table.match(/<th scope="col">/g)!.length;
      for (const [row] of table.matchAll(/<tbody>.*<\/tbody>/gs))
        for (const one of row.split("<tr").slice(1)) expect(one.match(/<t[dh][ >]/g)!.length).toBe(columns);
    }
  });
});

it("a hostile name stays text", () => {
  expect(renderHtml(bare)).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;");
});

const browser = [process.env["ASSAY_CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (path) => path !== undefined && existsSync(path),
);

describe.skipIf(browser === undefined)(`in a browser${browser === undefined ? " (skipped: no Chromium; set ASSAY_CHROMIUM)" : ""}`, () => {
  it("is accessible in light and dark, and does not scroll sideways on a phone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "assay-report-"));
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    const launched = await chromium.launch({ executablePath: browser!, args: ["--no-sandbox"] });
    try {
      const pages = [
        ...all.map(([, verdict]) => renderHtml(verdict)),
        renderEndpointHtml(endpointRun({ kind: "one" }, [{ failed: [3, 4], model: evil }])),
        renderEndpointHtml(endpointRun({ kind: "capacity", startPerSecond: 20 }, [{}, { ttft: () => 90 }])),
        renderEndpointHtml(endpointRun({ kind: "against", pairs: 2 }, [{}, { ttft: () => 15 }, { ttft: () => 16 }, {}])),
      ];
      for (const [index, html] of pages.entries()) {
        const path = join(folder, `${index}.html`);
        // The policy of the report forbids scripts, so the checker is let in for the test.
        writeFileSync(path, html.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, ""));
        for (const colorScheme of ["light", "dark"] as const) {
          const page = await launched.newPage({ viewport: { width: 360, height: 780 }, colorScheme });
          await page.goto(`file://${path}`);
          await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))");
          expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
          await page.evaluate(axe);
          const found = await page.evaluate(
            "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 120)))",
          );
          expect(found).toEqual([]);
          await page.close();
        }
      }
    } finally {
      await launched.close();
      rmSync(folder, { recursive: true });
    }
  });
});
