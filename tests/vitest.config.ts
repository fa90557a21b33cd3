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
    setupFiles: ["tests/properties.ts"],
    // Much more than anything takes: on a busy machine a process of Bun, Deno or workerd needs many seconds to start.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 10 } },
    server: { deps: { inline: ["zod"] } },
  },
});
