import { describe, expect, test } from "vitest";
import { readCall, readReply } from "../../../src/client/read_reply.ts";
import type { Spill } from "../../../src/jsonrpc/spill_sink.ts";
import { createLegacyEra } from "../../../src/protocol/legacy.ts";
import { createModernEra } from "../../../src/protocol/modern.ts";

const ERAS = [createLegacyEra(), createModernEra("2026-07-28", {}, {})];

/** What became of a request whose result left its message as a whole, but for these members. */
function read(at: number, method: string, result: unknown): { readonly reply: unknown; readonly aborted: number } {
  let aborted = 0;
  const writer = { write() {}, close: () => Promise.reject(new Error("not asked for")), abort: () => void aborted++ };
  const spills: Spill[] = [
    { pointer: "/result", bytes: 9, writer, isWhole: true },
    { pointer: "/result", bytes: 9, writer },
  ];
  return { reply: readCall(readReply(ERAS[at]!, method, { ok: true, result, bytes: 10, spills })), aborted };
}

describe.each([["legacy", 0], ["modern", 1]])("result that left as a whole, in the %s era", (_era, at) => {
  test.each(["tools/call", "tasks/result"])("is the answer to %s, without its content", (method) => {
    const { reply, aborted } = read(at, method, { isError: true });
    expect(reply).toMatchObject({ kind: "done", result: { isError: true }, spills: [{ isWhole: true }, {}] });
    expect(aborted).toBe(0);
  });

  test.each(["tools/list", "resources/read", "prompts/get", "tasks/get"])("is too large for %s", (method) => {
    const { reply, aborted } = read(at, method, {});
    expect(reply).toMatchObject({ kind: "failed", sent: true, refused: false, error: { code: "ERR_FRAME_TOO_LARGE" } });
    expect(aborted).toBe(2);
  });
});

test("asks for input that left as a whole are too large, though a state came with them", () => {
  const { reply, aborted } = read(1, "tools/call", { resultType: "input_required", requestState: "s" });
  expect(reply).toMatchObject({ kind: "failed", error: { code: "ERR_FRAME_TOO_LARGE" } });
  expect(aborted).toBe(2);
});
