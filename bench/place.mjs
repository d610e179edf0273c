// Where and how a measurement was made, for the head of its table.
import { execFileSync } from "node:child_process";
import { describeMachine } from "../dist/host/index.js";

export function place(command) {
  const { cpu, cores, node, os } = describeMachine();
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  return `Commit ${commit} · ${cpu}, ${cores} cores, ${os}, Node ${node} · \`${command}\``;
}

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
export const figure = (value, digits = 3) => String(Number(value.toPrecision(digits)));
export const ratios = (pairs) => {
  const all = pairs.map(([a, b]) => a / b);
  return `${figure(median(all))} (${figure(Math.min(...all))} – ${figure(Math.max(...all))})`;
};
