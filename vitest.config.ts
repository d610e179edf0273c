import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: ["test/build-once.ts"],
    testTimeout: 30_000,
    projects: [
      { extends: true, test: { name: "unit", include: ["src/**/*.test.ts", "test/architecture.test.ts"] } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: ["test/architecture.test.ts", "test/peers/**"],
          testTimeout: 240_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
