import { expect, it } from "vitest";
import { type WaitingCall, WaitingCalls } from "../../../src/call/waiting_calls.ts";
import type { DeskAsk } from "../../../src/permission/desk.ts";

const waiting = (id: string) => ({ toolCallId: id, verdict: { requestId: `req_${id}` } }) as WaitingCall;

it("a call that comes to wait while the open asks are listed is not taken for one that was decided", async () => {
  let answer!: (asks: readonly DeskAsk[]) => void;
  const calls = new WaitingCalls({ list: () => new Promise((resolve) => answer = resolve) }, "s");
  calls.add(waiting("a"));
  calls.add(waiting("b"));
  const taken = calls.takeAllDecided();
  calls.add(waiting("late"));
  answer([{ requestId: "req_b" } as DeskAsk]);
  const ids = (list: readonly WaitingCall[]) => list.map(({ toolCallId }) => toolCallId);
  const { decided, open } = await taken;
  expect([ids(decided), ids(open)]).toEqual([["a"], ["b"]]);
  const again = calls.takeAllDecided();
  answer([{ requestId: "req_b" } as DeskAsk, { requestId: "req_late" } as DeskAsk]);
  expect(ids((await again).open)).toEqual(["b", "late"]);
});
