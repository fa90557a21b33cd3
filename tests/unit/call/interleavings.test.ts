import fc from "fast-check";
import { expect, it } from "vitest";
import type { Outcome } from "../../../src/call/outcome.ts";
import type { HostError } from "../../../src/kernel/errors.ts";
import type { Approval } from "../../../src/permission/request.ts";
import { done, text } from "../../fixtures/fake_client.ts";
import { settle } from "../../fixtures/settle.ts";
import { weightedSteps } from "../../fixtures/weighted_steps.ts";
import { callScene, unbalanced } from "./call_setup.ts";

/** How often each step comes, against the others. */
const STEPS = {
  call: 6,
  same: 2,
  answer: 5,
  crash: 2,
  abort: 1,
  allow: 4,
  allow_session: 2,
  deny: 1,
  tick: 3,
  wait: 8,
  restart: 1,
  log_slow: 1,
  log_fast: 3,
  remove: 0.2,
  close: 0.2,
} as const;
type Step = keyof typeof STEPS;

async function run(steps: readonly Step[]) {
  const answers: ((answer: boolean | Approval) => void)[] = [];
  const scene = await callScene({ permission: {}, approve: () => new Promise((resolve) => answers.push(resolve)) });
  const { executor, connect, clock, sink, manager } = scene;
  const outcomes: Promise<Outcome | string>[] = [];
  const aborts: AbortController[] = [];
  const held: (() => void)[] = [];
  let calls = 0;
  const call = (toolCallId: string): void => {
    const controller = new AbortController();
    aborts.push(controller);
    const outcome = executor.call("mcp.echo.echo", { toolCallId }, {
      toolCallId,
      signal: controller.signal,
      timeoutMs: 5000,
    });
    outcomes.push(outcome.catch((error: HostError) => error.code));
  };
  for (const step of steps) {
    switch (step) {
      case "call":
        call(`c${++calls}`);
        break;
      case "same":
        if (calls > 0) call(`c${calls}`);
        break;
      case "answer":
        connect.last.calls.shift()?.answer(done(text("hi")));
        break;
      case "crash":
        void connect.last.end();
        break;
      case "abort":
        aborts.shift()?.abort();
        break;
      case "allow":
        answers.shift()?.(true);
        break;
      case "allow_session":
        answers.shift()?.({ decision: "allow", scope: "session" });
        break;
      case "deny":
        answers.shift()?.(false);
        break;
      case "tick":
        await clock.advance(600);
        break;
      case "wait":
        await settle();
        break;
      case "remove":
        void manager.remove("echo").catch(() => {});
        break;
      case "restart":
        void manager.restart("echo").catch(() => {});
        break;
      case "log_slow":
        sink.beforeAppend = () => new Promise((resolve) => held.push(resolve));
        break;
      case "log_fast":
        sink.beforeAppend = undefined;
        for (const release of held.splice(0)) release();
        break;
      case "close":
        void executor.close();
        break;
    }
  }
  sink.beforeAppend = undefined;
  for (const release of held.splice(0)) release();
  const closed = executor.close();
  await clock.advance(10_000);
  await closed;
  const ended = await Promise.all(outcomes);
  await manager.close();
  return { ...scene, ended };
}

it(
  "whatever happens in whatever order: each call ends, each started event is closed once, nothing is sent without one or twice",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        weightedSteps(STEPS, { minLength: 15, maxLength: 60 }),
        async (steps) => {
          const { sink, clock, connect, ended, errors, desk } = await run(steps);
          expect(errors).toEqual([]);
          expect(unbalanced(sink)).toEqual([]);
          const requested = sink.ofType("permission.requested").map((event) => event.payload["requestId"]);
          const resolved = sink.ofType("permission.resolved").map((event) => event.payload["requestId"]);
          expect([...resolved].sort()).toEqual([...requested].sort());
          expect(await desk.list()).toEqual([]);
          for (const outcome of ended) if (typeof outcome === "string") expect(outcome).toBe("ERR_SESSION_CLOSED");
          // What reached a server, over all of its connections: never the same call twice.
          const sent = connect.clients.flatMap((client) => client.taken.map((args) => JSON.stringify(args)));
          expect(new Set(sent).size).toBe(sent.length);
          expect(sink.ofType("mcp.call.started").length).toBeGreaterThanOrEqual(sent.length);
          expect(clock.timers).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  },
  180_000,
);
