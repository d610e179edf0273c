/** How long prompts and answers are asked to be, in tokens: one length for all, or drawn from a distribution. */
import { z } from "zod";
import type { RandomStream } from "../base/index.ts";

export const lengthsSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("fixed"), tokens: z.int().min(1).describe("length, tokens") }),
    z.strictObject({
      kind: z.literal("normal"),
      mean: z.number().min(1).describe("mean, tokens"),
      sd: z.number().min(0).describe("standard deviation, tokens"),
    }),
    z.strictObject({
      kind: z.literal("lognormal"),
      median: z.number().min(1).describe("median, tokens"),
      sigma: z.number().min(0).max(5).describe("standard deviation of the logarithm"),
    }),
    z.strictObject({
      kind: z.literal("uniform"),
      from: z.int().min(1).describe("shortest, tokens"),
      to: z.int().min(1).describe("longest, tokens"),
    }),
    z.strictObject({
      kind: z.literal("empirical"),
      values: z.array(z.int().min(1)).min(1).max(100_000).describe("lengths to draw from, each as likely as it is often"),
    }),
  ])
  .describe("lengths in tokens");
export type Lengths = z.infer<typeof lengthsSchema>;

/** One length, at least 1. */
export function drawLength(lengths: Lengths, stream: RandomStream): number {
  switch (lengths.kind) {
    case "fixed":
      return lengths.tokens;
    case "normal":
      return Math.max(1, Math.round(lengths.mean + lengths.sd * stream.normal()));
    case "lognormal":
      return Math.max(1, Math.round(lengths.median * Math.exp(lengths.sigma * stream.normal())));
    case "uniform":
      return lengths.from + stream.below(lengths.to - lengths.from + 1);
    case "empirical":
      return lengths.values[stream.below(lengths.values.length)]!;
  }
}
