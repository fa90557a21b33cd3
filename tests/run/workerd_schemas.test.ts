import { expect, test } from "vitest";
import { startWorker } from "./worker.ts";

const askWorker = await startWorker("workerd_schemas_entry.ts");

test("FR-74 schemas are checked in workerd, where no code is made out of text", async () => {
  expect(await (await askWorker("")).json()).toEqual({
    codeFromText: "EvalError",
    tools: ["mcp__s__run"],
    good: { status: "completed", rules: [] },
    wrongResult: { status: "completed", rules: ["structured_content_invalid"] },
    wrongArguments: { status: "failed", reason: "invalid_arguments", rules: [] },
    calls: 2,
  });
});
