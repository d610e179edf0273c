#!/usr/bin/env node
/** The composition root: the one place that picks implementations. */
process.exitCode = 0;
