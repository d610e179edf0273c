#!/usr/bin/env node
/** The composition root of the command line. */
import { runCommandLine } from "./cli/index.ts";

process.exitCode = await runCommandLine(process.argv.slice(2));
