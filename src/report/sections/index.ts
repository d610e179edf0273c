/** The report's parts below the answer, each a heading, a picture where one helps, and the numbers in a table. */
import type { Verdict } from "../../decide/index.ts";
import { accuracySection, capacitySection, costSection, finalistsTable, latencySection } from "./gates.ts";
import { buildsSection, funnelSection, repeatSection, runsSection } from "./record.ts";
import { profileSection, stagesSection } from "./time.ts";

const parts = [
  finalistsTable,
  latencySection,
  capacitySection,
  costSection,
  accuracySection,
  stagesSection,
  profileSection,
  funnelSection,
  runsSection,
  buildsSection,
  repeatSection,
];

export const sections = (verdict: Verdict): string =>
  parts
    .map((part) => part(verdict))
    .filter(Boolean)
    .join("\n");
