/** The command line: what there is, and which file does it; a command's rooms load when it is asked for. */
import { Command, CommanderError } from "commander";
import { addBench } from "./bench/command.ts";
import { fail } from "./fail.ts";
import type { ServeOptions } from "./serve-model.ts";
import type { TruthServerOptions } from "./truth-server.ts";
import { version } from "./version.ts";

/** Runs a command line; resolves with the exit status. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  let status = 0;
  const program = new Command("assay")
    .description(
      "Chooses the build, runtime and settings of a model by measurement: describe the workload, get a verdict with its evidence.",
    )
    .version(version)
    .exitOverride()
    .showHelpAfterError("(assay --help lists the commands)");
  program
    .command("init")
    .description("write a workload.yaml to edit, filled from the model and the data")
    .argument("<models...>", "ONNX files that may answer the same question; the first is the baseline")
    .requiredOption("--data <file>", "labelled data: .npz, .npy, .jsonl or .csv")
    .option("--out <file>", "where to write", "workload.yaml")
    .option("--force", "replace a file that is there")
    .action(async (models: string[], options: { data: string; out: string; force?: boolean }) => {
      status = await (await import("./init.ts")).runInit(models, options);
    });
  program
    .command("decide")
    .description("measure the candidates of a workload and decide")
    .argument("<workloads...>", "workload.yaml; several are decided one after another")
    .option("--out <folder>", "run folder; ./assay-runs/<name>-<time> unless said")
    .option("--budget <time>", "time for the whole run, such as 90s or 2m")
    .option("--only <names...>", 'candidates to keep beside the baseline; * stands for anything: "mlp*int8*"')
    .option("--exclude <names...>", "candidates to leave out")
    .option("--space <file>", "a space of candidates that takes the place of the workload's `search`")
    .option("--json", "print the verdict as one JSON document")
    .option("--resume <folder>", "continue an interrupted run")
    .option("--allow-outside", "let paths leave the folder of the workload file")
    .option("--markdown <file>", "write the verdict as Markdown too")
    .option("--junit <file>", "write the verdict as JUnit XML too")
    .option("--fail-on <answers>", "exit 5 for these answers, 0 for others: winner, keep, no-difference, none-meets, cannot-tell")
    .addHelpText(
      "after",
      "\nExit status: 0 a candidate meets the targets · 2 bad input · 3 nothing meets them · 4 cannot tell yet · 5 named by --fail-on · 130 interrupted · 1 a fault of our own",
    )
    .action(async (workloads: string[], options: object) => {
      status = await (await import("./decide.ts")).runDecide(workloads, options);
    });
  program
    .command("report")
    .description("draw the report again from the records")
    .argument("<run>", "run folder")
    .option("--open", "open it in the browser")
    .option("--markdown <file>", "write the verdict as Markdown too")
    .option("--junit <file>", "write the verdict as JUnit XML too")
    .option(
      "--fail-on <answers>",
      "exit 5 for these answers, 0 for others: winner, keep, no-difference, none-meets, cannot-tell; of a run against endpoints missed, cannot-tell, invalid",
    )
    .action(async (run: string, options: object) => {
      status = (await import("./run.ts")).runReport(run, options);
    });
  program
    .command("verify")
    .description("recompute the verdict from the records and compare")
    .argument("<run>", "run folder")
    .action(async (run: string) => {
      status = (await import("./run.ts")).runVerify(run);
    });
  program
    .command("compare")
    .description("set finished runs side by side: do two decisions agree, which endpoint is better")
    .argument("<runs...>", "two run folders; of runs against endpoints also several, with the other side behind --with")
    .option("--with <runs...>", "the second side")
    .option("--json", "print one JSON document")
    .addHelpText("after", "\nExit status: 0 they agree, or every difference is told · 3 the decisions do not agree · 4 cannot tell yet")
    .action(async (runs: string[], options: { json?: boolean; with?: string[] }) => {
      status = (await import("./run.ts")).runCompare(runs, options);
    });
  program
    .command("export")
    .description("write a run against endpoints in a form of other tools")
    .argument("<run>", "run folder")
    .requiredOption("--format <name>", "csv, arrow, prometheus, otlp, hdr, junit or markdown")
    .option("--out <file>", "where to; standard output unless said")
    .action(async (run: string, options: { format: string; out?: string }) => {
      status = (await import("./bench/run.ts")).runExport(run, options);
    });
  program
    .command("replay")
    .description("measure the finalists of a finished run again and say whether the result agrees")
    .argument("<run>", "run folder")
    .option("--workload <file>", "the workload file, where it has moved")
    .option("--out <folder>", "run folder; ./assay-runs/<name>-<time> unless said")
    .option("--budget <time>", "time for the whole run; as the first unless said")
    .option("--json", "print the comparison as one JSON document")
    .option("--allow-outside", "let paths leave the folder of the workload file")
    .addHelpText("after", "\nExit status: 0 it agrees · 3 it does not · 2 bad input · 130 interrupted · 1 a fault of our own")
    .action(async (run: string, options: object) => {
      status = await (await import("./replay.ts")).runReplay(run, options);
    });
  program
    .command("serve-model")
    .description("serve an artifact or an ONNX file over Open Inference Protocol v2")
    .argument("<artifact>", "artifact folder or ONNX file")
    .option("--name <name>", "name of the model in the protocol")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port; 0 = any free one", "8000")
    .option("--threads <number>", "threads within an operator", "1")
    .option("--replicas <number>", "processes", "1")
    .option("--batch <number>", "most requests joined in one run", "1")
    .option("--delay <ms>", "longest wait for a batch to fill", "0")
    .option("--queue <number>", "most requests that wait in a replica", "512")
    .action(async (artifact: string, options: ServeOptions) => {
      status = await (await import("./serve-model.ts")).runServeModel(artifact, options);
    });
  addBench(program, async (protocol, place, options) => {
    status = await (await import("./bench/index.ts")).runBench(protocol, place, options);
  });
  program
    .command("truth-server")
    .description("run a server whose every time is scripted, to check a load generator against")
    .argument("<script>", "YAML file of its answers")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port; 0 = any free one", "8000")
    .option("--log <file>", "when it ends, write every write's asked and true time as JSON Lines")
    .action(async (script: string, options: TruthServerOptions) => {
      status = await (await import("./truth-server.ts")).runTruthServer(script, options);
    });
  program
    .command("doctor")
    .description("say what this machine offers, what is missing, how to get it")
    .option("--json", "print one JSON document")
    .action(async (options: { json?: boolean }) => {
      status = (await import("./doctor.ts")).runDoctor(options);
    });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return status;
  } catch (fault) {
    if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : 2;
    return fail(fault);
  }
}
