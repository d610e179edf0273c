/** What the ONNX Runtime worker can be asked to do. */
import { z } from "zod";
import type { Route, SessionSettings } from "../../workload/index.ts";
import type { ScreenArm } from "../screen.ts";

/** Rows that one item takes in each input's tensor file: 1 with a batch dimension, else the input's first size. */
export type RowsPerItem = Readonly<Record<string, number>>;

export interface BuildJob {
  kind: "build";
  modelPath: string;
  /** Files beside the model that hold its weights, relative to it. */
  externalFiles: readonly string[];
  route: Route;
  outFolder: string;
  /** Tensor file of the calibration split; null for routes that need none. */
  calibrationFile: string | null;
  /** Tensor file of a few items, on which the cleaned model is compared with the original. */
  inputsFile: string;
  outputs: readonly string[];
  rows: RowsPerItem;
  batchable: boolean;
  weightBits: 7 | 8;
}
export interface SmokeJob {
  kind: "smoke";
  modelPath: string;
  /** Tensor file of a few items. */
  inputsFile: string;
  rows: RowsPerItem;
  session: SessionSettings;
  outputs: readonly string[];
}
export interface ScreenJob {
  kind: "screen";
  arms: readonly (ScreenArm & { outputs: readonly string[]; rows: RowsPerItem })[];
}
/** Runs a model with the runtime's profiler on. */
export interface ProfileJob {
  kind: "profile";
  modelPath: string;
  session: SessionSettings;
  inputsFile: string;
  rows: RowsPerItem;
  outputs: readonly string[];
  /** An empty folder for the runtime's file. */
  folder: string;
  windowMs: number;
}
export type OnnxJob = BuildJob | SmokeJob | ScreenJob | ProfileJob;

export const jobKind = z.object({ kind: z.enum(["build", "smoke", "screen", "profile"]) });
