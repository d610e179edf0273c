/**
 * Two verdicts side by side: what was asked differently, what was found differently, and whether the
 * second agrees with the first. Runs at two times share no host: candidates are compared by their
 * ratios to the baseline, which was measured beside them in both.
 */
import { figure } from "../base/index.ts";
import type { CandidateVerdict, Verdict } from "./verdict.ts";

export interface RatioOfRatios {
  value: number;
  low: number;
  high: number;
}

export interface ComparedCandidate {
  name: string;
  first: CandidateVerdict | null;
  second: CandidateVerdict | null;
  /** Second ÷ first of the median latency, and of CPU time, each over the baseline's; null = not in both. */
  latency: RatioOfRatios | null;
  cpu: RatioOfRatios | null;
}

export interface Comparison {
  /** Same class of answer, and every ratio told from the baseline's lies where it lay. */
  agrees: boolean;
  /** Why it does not agree, one sentence each. */
  disagreements: string[];
  /** What was put differently: question, machine, versions, seeds, noise. */
  differences: string[];
  candidates: ComparedCandidate[];
}

type Estimate = { value: number; low: number | null; high: number | null } | null | undefined;

/** Ratio of two independent ratios; the half-widths of the logarithms add as squares. Null without both intervals. */
export function ratioOfRatios(second: Estimate, first: Estimate): RatioOfRatios | null {
  if (!second || !first || second.low === null || second.high === null || first.low === null || first.high === null) return null;
  if (second.low <= 0 || first.low <= 0) return null;
  const half = ({ low, high }: { low: number; high: number }): number => Math.log(high / low) / 2;
  const centre = Math.log(second.value / first.value);
  const reach = Math.hypot(half(second as { low: number; high: number }), half(first as { low: number; high: number }));
  return { value: Math.exp(centre), low: Math.exp(centre - reach), high: Math.exp(centre + reach) };
}

const contains1 = (ratio: RatioOfRatios | null): boolean => ratio === null || (ratio.low <= 1 && ratio.high >= 1);

type Flat = Readonly<Record<string, string | number | boolean>>;

/** Fields of two flat records that differ, in words. */
function changed(what: string, first: Flat, second: Flat): string[] {
  return [...new Set([...Object.keys(first), ...Object.keys(second)])]
    .filter((key) => first[key] !== second[key])
    .map((key) => {
      const said = (value: Flat[string] | undefined): string => {
        const text = value === undefined ? "absent" : String(value);
        return text.length > 40 ? `${text.slice(0, 12)}…` : text;
      };
      return `${what} ${key}: ${said(first[key])} → ${said(second[key])}`;
    });
}

const stallsPerRun = ({ runs }: Verdict): number => runs.reduce((sum, { stalls }) => sum + stalls, 0) / Math.max(1, runs.length);

export function compareVerdicts(first: Verdict, second: Verdict): Comparison {
  const differences = [
    ...(first.workload.name === second.workload.name ? [] : [`workload: ${first.workload.name} → ${second.workload.name}`]),
    ...(first.workload.digest === second.workload.digest ? [] : ["the workload file says something else"]),
    ...changed("digest of", first.repeat.digests, second.repeat.digests),
    ...changed("machine", first.repeat.machine, second.repeat.machine),
    ...changed("version of", first.repeat.versions, second.repeat.versions),
    ...(first.repeat.rootSeed === second.repeat.rootSeed ? [] : ["fresh seeds"]),
    ...(first.repeat.budgetSeconds === second.repeat.budgetSeconds
      ? []
      : [`budget: ${figure(first.repeat.budgetSeconds)} s → ${figure(second.repeat.budgetSeconds)} s`]),
    `host stalls a run: ${figure(stallsPerRun(first))} → ${figure(stallsPerRun(second))}`,
    ...(first.smallestDifference.ratio === null || second.smallestDifference.ratio === null
      ? []
      : [
          `smallest visible difference of latency: ${figure(100 * first.smallestDifference.ratio)} % → ${figure(100 * second.smallestDifference.ratio)} %`,
        ]),
  ];
  const names = [...new Set([...first.candidates, ...second.candidates].map(({ name }) => name))];
  const candidates = names.map((name): ComparedCandidate => {
    const [a, b] = [first, second].map(({ candidates: all }) => all.find((one) => one.name === name) ?? null) as [
      CandidateVerdict | null,
      CandidateVerdict | null,
    ];
    return {
      name,
      first: a,
      second: b,
      latency: ratioOfRatios(b?.against?.latency, a?.against?.latency),
      cpu: ratioOfRatios(b?.against?.cpu, a?.against?.cpu),
    };
  });
  const disagreements = [
    ...(first.answer.kind === second.answer.kind ? [] : [`the answer was ${first.answer.kind} and is ${second.answer.kind}`]),
    ...(first.answer.kind === second.answer.kind && first.answer.name !== second.answer.name
      ? [`the answer named ${first.answer.name ?? "nobody"} and names ${second.answer.name ?? "nobody"}`]
      : []),
    ...candidates.flatMap(({ name, latency, cpu }) =>
      contains1(latency) || contains1(cpu)
        ? []
        : [
            `${name}: its median latency beside the baseline's is ${figure(latency!.value)} times (${figure(latency!.low)} – ${figure(latency!.high)}) what it was, its CPU time ${figure(cpu!.value)} times`,
          ],
    ),
  ];
  return { agrees: disagreements.length === 0, disagreements, differences, candidates };
}
