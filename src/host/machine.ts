/** What this machine is: the facts that keys, limits and reports need. No host name, no address. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { arch, availableParallelism, cpus, homedir, platform, release, totalmem } from "node:os";
import { join } from "node:path";

export interface Machine {
  os: string;
  osRelease: string;
  arch: string;
  /** The C library and its version, such as `glibc 2.36`. */
  libc: string;
  cpu: string;
  /** Instruction sets that change what a runtime compiles, sorted. */
  isa: readonly string[];
  /** Cores this process may use. */
  cores: number;
  memoryBytes: number;
  node: string;
}

const telling = /^(sse4_2|avx|avx2|avx512\w*|avx_vnni|amx_\w+|fma|f16c|asimd\w*|sve\w*|bf16|i8mm)$/;

function instructionSets(): string[] {
  try {
    const info =
      platform() === "linux"
        ? readFileSync("/proc/cpuinfo", "utf8")
        : execFileSync("sysctl", ["-n", "machdep.cpu.features"], { encoding: "utf8" }).toLowerCase();
    const flags = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(info)?.[1] ?? info;
    return [...new Set(flags.split(/\s+/).filter((flag) => telling.test(flag)))].sort();
  } catch {
    return [];
  }
}

/** Reads the machine; cheap enough for every start. */
export function describeMachine(): Machine {
  const header = (process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined)?.header;
  return {
    os: platform(),
    osRelease: release(),
    arch: arch(),
    libc: header?.glibcVersionRuntime ? `glibc ${header.glibcVersionRuntime}` : platform() === "linux" ? "musl" : "system",
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    isa: instructionSets(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    node: process.versions.node,
  };
}

/** The platform's folder for files that can be made again; `ASSAY_CACHE` names another. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env["ASSAY_CACHE"]) return env["ASSAY_CACHE"];
  if (platform() === "darwin") return join(homedir(), "Library", "Caches", "assay");
  if (platform() === "win32") return join(env["LOCALAPPDATA"] ?? join(homedir(), "AppData", "Local"), "assay", "cache");
  return join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "assay");
}
