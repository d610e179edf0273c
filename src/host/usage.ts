/**
 * What processes and the machine have used, read from /proc (Linux). Elsewhere every figure is null:
 * said, never guessed.
 */
import { readFileSync, readdirSync } from "node:fs";

export interface Usage {
  /** CPU seconds since each process began, summed, user and system. */
  cpuSeconds: number;
  /** Resident memory now, bytes, summed. */
  residentBytes: number;
  /** Largest resident memory of each process, bytes, summed. */
  peakBytes: number;
}

/** Clock ticks a second of /proc; 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

const read = (path: string): string | null => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
};

/** CPU seconds of one process: the nanoseconds of its living threads where the kernel keeps them, else its ticks. */
function cpuSecondsOf(pid: number): number | null {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map((thread) => read(`/proc/${pid}/task/${thread}/schedstat`));
    const nanoseconds = threads.reduce((sum, text) => sum + Number(text?.split(" ")[0] ?? 0), 0);
    if (nanoseconds > 0) return nanoseconds / 1e9;
  } catch {
    return null;
  }
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The usage of those processes together; null when none is there or the system does not tell. */
export function usageOf(pids: readonly number[]): Usage | null {
  const sum: Usage = { cpuSeconds: 0, residentBytes: 0, peakBytes: 0 };
  let seen = 0;
  for (const pid of pids) {
    const cpu = cpuSecondsOf(pid);
    const status = read(`/proc/${pid}/status`);
    if (cpu === null || status === null) continue;
    const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
    sum.cpuSeconds += cpu;
    sum.residentBytes += field("VmRSS");
    sum.peakBytes += field("VmHWM");
    seen++;
  }
  return seen === 0 ? null : sum;
}

export interface HostTicks {
  /** CPU time taken by the host for others, ticks. */
  steal: number;
  /** All CPU time, ticks. */
  total: number;
}

/** The machine's counters since it started; null where /proc/stat is absent. Two readings give the stolen share. */
export function hostTicks(): HostTicks | null {
  const line = /^cpu\s+(.*)$/m.exec(read("/proc/stat") ?? "")?.[1];
  if (line === undefined) return null;
  const fields = line.split(/\s+/).map(Number);
  return { steal: fields[7] ?? 0, total: fields.slice(0, 8).reduce((sum, ticks) => sum + ticks, 0) };
}
