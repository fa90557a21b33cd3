import { expect, test } from "vitest";
import type { SpillWriter } from "../../../src/jsonrpc/spill_sink.ts";
import { done } from "../../fixtures/fake_client.ts";
import { until } from "../../fixtures/settle.ts";
import { callScene } from "./call_setup.ts";

test("answer that took long to arrive is kept by a store that takes its time", async () => {
  const scene = await callScene();
  const { clock } = scene;
  const stored = { sha256: "a".repeat(64), bytes: 9, mediaType: "text/plain" };
  const writer: SpillWriter = {
    write() {},
    close: (signal) =>
      new Promise((resolve) => {
        const text = { head: "head", tail: "tail", bytes: 9 };
        clock.after(9000, () => resolve({ ...text, stored }));
        signal?.addEventListener("abort", () => resolve(text), { once: true });
      }),
    abort() {},
  };
  const outcome = scene.executor.call("mcp__echo__echo", {});
  const call = await until(() => scene.connect.last.calls[0]);
  await clock.advance(300_000);
  const reply = done({ content: [{ type: "text", text: "head" }] });
  call.answer({ ...reply, spills: [{ pointer: "/result/content/0/text", bytes: 9, writer }] } as typeof reply);
  await clock.advance(9500);
  expect(await outcome).toMatchObject({ status: "completed", truncated: true, artifact: stored });
});
