/** JUnit XML, which CI systems show. */

const xml = (text: string): string =>
  text
    // Characters that XML 1.0 cannot hold.
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

export interface TestCase {
  name: string;
  outcome: "pass" | "fail" | "skip";
  text: string;
}

/** @param suite its name; `className` groups the cases */
export function junitSuite(suite: string, className: string, cases: readonly TestCase[]): string {
  const count = (outcome: TestCase["outcome"]): number => cases.filter((one) => one.outcome === outcome).length;
  const body = cases.map(({ name, outcome, text }) => {
    const open = `  <testcase classname="${xml(className)}" name="${xml(name)}">`;
    const inner =
      outcome === "fail"
        ? `<failure message="${xml(text.split("\n")[0]!)}">${xml(text)}</failure>`
        : outcome === "skip"
          ? `<skipped message="${xml(text.split("\n")[0]!)}"/>`
          : `<system-out>${xml(text)}</system-out>`;
    return `${open}${inner}</testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${xml(suite)}" tests="${cases.length}" failures="${count("fail")}" errors="0" skipped="${count("skip")}">`,
    ...body,
    "</testsuite>",
    "",
  ].join("\n");
}
