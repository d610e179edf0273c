/** What the ONNX Runtime worker can be asked to do. */
import { z } from "zod";
import type { Route, SessionSettings } from "../../workload/index.ts";
import type { ScreenArm } from "../screen.ts";

export interface BuildJob {
  kind: "build";
  modelPath: string;
  route: Route;
  outFolder: string;
  /** Tensor file of the calibration split; null for routes that need none. */
  calibrationFile: string | null;
  batchable: boolean;
  weightBits: 7 | 8;
}
export interface SmokeJob {
  kind: "smoke";
  modelPath: string;
  /** Tensor file of a few items. */
  inputsFile: string;
  session: SessionSettings;
  outputs: readonly string[];
}
export interface ScreenJob {
  kind: "screen";
  arms: readonly (ScreenArm & { outputs: readonly string[] })[];
}
export type OnnxJob = BuildJob | SmokeJob | ScreenJob;

export const jobKind = z.object({ kind: z.enum(["build", "smoke", "screen"]) });
