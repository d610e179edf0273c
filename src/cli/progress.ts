/** Live progress on stderr: one line that is rewritten on a terminal, one line a stage without. */
import type { Progress } from "../bench/index.ts";

const names: Record<Progress["stage"], string> = {
  builds: "Building",
  screening: "Screening in process",
  accuracy: "Checking accuracy",
  profile: "Looking inside the model",
  latency: "Measuring latency",
  capacity: "Searching capacities",
  confirmation: "Confirming",
};

export interface ProgressLine {
  show(progress: Progress): void;
  end(): void;
}

export function progressLine(stream: NodeJS.WriteStream, quiet: boolean): ProgressLine {
  const began = Date.now();
  const live = stream.isTTY && !quiet;
  let stage = "";
  let last = 0;
  const clear = (): void => void (live && stream.write("\r\u001B[K"));
  return {
    show({ stage: next, ratio, text }) {
      if (quiet) return;
      const seconds = `${Math.round((Date.now() - began) / 1000)} s`;
      if (!live) {
        if (next !== stage) stream.write(`[${seconds}] ${names[next]} …\n`);
        stage = next;
        return;
      }
      if (next === stage && Date.now() - last < 80) return;
      last = Date.now();
      if (next !== stage && stage !== "") {
        clear();
        stream.write(`✓ ${names[stage as Progress["stage"]]}\n`);
      }
      stage = next;
      const bar = ratio === null ? "" : ` ${"█".repeat(Math.round(ratio * 20)).padEnd(20, "░")}`;
      const line = `${names[next]}${bar} ${seconds} · ${text}`;
      clear();
      stream.write(line.slice(0, (stream.columns ?? 80) - 1));
    },
    end: clear,
  };
}
