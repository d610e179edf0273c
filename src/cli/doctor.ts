/** `assay doctor`: what this machine offers, what is missing, and how to get it. */
import { execFileSync } from "node:child_process";
import { formatBytes } from "../base/index.ts";
import { onnxruntimeStack } from "../build/onnxruntime/index.ts";
import { cacheFolder, describeMachine, hostTicks, usageOf } from "../host/index.ts";

interface Finding {
  ok: boolean;
  what: string;
  /** The way out, when it is not. */
  help?: string;
}

function runs(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export function runDoctor({ json }: { json?: boolean }): number {
  const machine = describeMachine();
  const findings: Finding[] = [];
  const find = (ok: boolean, what: string, help?: string): void =>
    void findings.push({ ok, what, ...(!ok && help !== undefined && { help }) });
  try {
    const { name, version } = onnxruntimeStack();
    find(true, `${name} ${version} loads`);
  } catch (fault) {
    find(false, `ONNX Runtime does not load: ${(fault as Error).message}`, "Run npm ci again; on Linux it needs glibc 2.28 or newer.");
  }
  find(
    machine.cores >= 2,
    `${machine.cores} cores: ${Math.max(1, machine.cores - 1)} to serve, one to measure`,
    "With one core the load generator and the server share it; figures will be noisy.",
  );
  find(
    machine.isa.some((set) => /vnni|i8mm|amx_int8/.test(set)),
    "instructions for int8 products",
    "int8 candidates run, at little or no gain.",
  );
  find(
    usageOf([process.pid]) !== null,
    "CPU time and memory of processes can be read",
    "On this system those figures are shown as unknown.",
  );
  find(hostTicks() !== null, "CPU time taken by the host can be read", "On this system it is shown as unknown.");
  find(
    runs("taskset", ["-c", "0", "true"]),
    "a server can be bound to its cores",
    "Install util-linux (taskset); without it servers may use more cores than hardware.threads, and such runs are invalid.",
  );
  const facts = {
    cpu: machine.cpu,
    memory: formatBytes(machine.memoryBytes),
    system: `${machine.os} ${machine.osRelease} ${machine.arch}, ${machine.libc}`,
    node: machine.node,
    cache: cacheFolder(),
  };
  if (json) process.stdout.write(`${JSON.stringify({ facts, findings }, undefined, 2)}\n`);
  else {
    for (const [name, value] of Object.entries(facts)) process.stdout.write(`${name.padEnd(8)} ${value}\n`);
    process.stdout.write("\n");
    for (const { ok, what, help } of findings)
      process.stdout.write(`${ok ? "✓" : "✗"} ${what}\n${help === undefined ? "" : `    ${help}\n`}`);
  }
  return 0;
}
