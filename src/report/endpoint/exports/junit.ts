/** A run for CI: a case for each visit's validity and each of its targets; open ones are skipped, a search's answer is its own case. */
import { describeLoad, type EndpointRun } from "../../../bench/index.ts";
import { junitSuite, type TestCase } from "../../junit.ts";
import { headline, percentileName } from "../words.ts";

const outcomeOf = { pass: "pass", fail: "fail", "cannot-tell": "skip" } as const;

export function toJUnit(run: EndpointRun): string {
  const { sentence, text, className } = headline(run);
  const answer: TestCase = {
    name: text,
    outcome: className === "pass" ? "pass" : className === "cannot-tell" ? "skip" : "fail",
    text: sentence,
  };
  // Rates that a search tried and that missed are how it works, not failures.
  const single = run.conclusion.kind === "one";
  const cases = run.visits.flatMap(({ run: own, figures, load }, at): TestCase[] => {
    const name = single ? "" : `visit ${at + 1}, ${describeLoad(load)}: `;
    return [
      { name: `${name}valid`, outcome: own.valid ? "pass" : single ? "fail" : "skip", text: own.reasons.join("; ") || "valid" },
      ...figures.targets.map(({ tag, p, limit, result, reason }): TestCase => {
        const outcome = outcomeOf[result];
        return {
          name: `${name}${tag}.${percentileName(p)} at most ${limit}`,
          outcome: !single && outcome === "fail" ? "skip" : outcome,
          text: reason,
        };
      }),
    ];
  });
  return junitSuite("assay bench", "assay.bench", [answer, ...cases]);
}
