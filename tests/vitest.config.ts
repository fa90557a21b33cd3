import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  cacheDir: ".cache/vite",
  test: {
    include: [
      "tests/unit/**/*.test.ts",
      "tests/run/**/*.test.ts",
      "tests/structure/**/*.test.ts",
      "tests/flow/**/*.test.ts",
      "tests/fault/**/*.test.ts",
    ],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    server: { deps: { inline: ["zod"] } },
  },
});
