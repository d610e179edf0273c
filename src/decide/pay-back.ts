/** When the cost of this run comes back through what its winner saves. */
import { figure } from "../base/index.ts";
import { payBack } from "../cost/index.ts";
import type { Workload } from "../workload/index.ts";
import type { CandidateVerdict, Verdict } from "./verdict.ts";

const secondsPerDay = 86_400;

/** Null where there is no winner, no price, or no volume to save on. */
export function payBackOf(
  { traffic, volume, hardware }: Workload,
  winner: CandidateVerdict | undefined,
  baseline: CandidateVerdict,
  spentSeconds: number,
): Verdict["payBack"] {
  const { hourlyUsd } = hardware;
  const perDay =
    volume?.requestsPerDay ??
    (traffic.ratePerSecond === undefined ? undefined : (traffic.ratePerSecond / (traffic.daily?.peakToMean ?? 1)) * secondsPerDay);
  if (!winner?.cost || !baseline.cost || hourlyUsd === undefined || !volume || perDay === undefined) return null;
  const tuningUsd = (spentSeconds / 3600) * hourlyUsd;
  const [its, own] = [baseline.cost.perMillionGoodUsd.low, winner.cost.perMillionGoodUsd.high];
  const savedPerMillionUsd = its === null || own === null ? null : its - own;
  const { lifetimeDays } = volume;
  const { requests, day } = payBack({
    tuningUsd,
    savedPerRequestUsd: (savedPerMillionUsd ?? 0) / 1e6,
    requestsPerDay: perDay,
    lifetimeDays,
  });
  const cost = `The machine time of this run cost $${figure(tuningUsd)}`;
  const sentence =
    requests === null
      ? `${cost}; nothing is saved for certain, so it does not pay.`
      : day === null
        ? `${cost}; it comes back after ${figure(requests)} requests, which ${figure(lifetimeDays)} days at ${figure(perDay)} a day do not bring: it does not pay.`
        : `${cost}; it comes back after ${figure(requests)} requests, on day ${day} of ${figure(lifetimeDays)}.`;
  return { tuningUsd, savedPerMillionUsd, requests, day, sentence };
}
