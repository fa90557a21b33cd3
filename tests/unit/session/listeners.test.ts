import { afterEach, beforeEach, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { until } from "../../fixtures/settle.ts";

const { addEventListener, removeEventListener } = EventTarget.prototype;
const listeners = new Map<EventTarget, Set<unknown>>();
let most = 0;

beforeEach(() => {
  listeners.clear();
  most = 0;
  EventTarget.prototype.addEventListener = function (this: EventTarget, type, listener, options) {
    addEventListener.call(this, type, listener, options);
    if (!(this instanceof AbortSignal)) return;
    const known = listeners.get(this) ?? new Set();
    listeners.set(this, known.add(listener));
    most = Math.max(most, known.size);
  };
  EventTarget.prototype.removeEventListener = function (this: EventTarget, type, listener, options) {
    removeEventListener.call(this, type, listener, options);
    listeners.get(this)?.delete(listener);
  };
});

afterEach(() => {
  EventTarget.prototype.addEventListener = addEventListener;
  EventTarget.prototype.removeEventListener = removeEventListener;
});

it("no signal has more than one listener, whatever the number of servers, calls, asks and waits", async () => {
  const names = Array.from({ length: 15 }, (_, index) => `s${index}`);
  let asks = 0;
  const host = await createHost({
    runtime: fakeRuntime({ hang: { tools: ["hang"], call: () => new Promise(() => {}) } }),
    servers: names.map((name) => ({ name, command: "hang" })),
    localTools: [{ name: "wait", risk: "read", inputSchema: {}, run: () => new Promise(() => {}) }],
    permission: { rules: [{ server: "*", decision: "allow" }, { server: "s1", decision: "ask" }] },
    approve: () => {
      asks++;
      return new Promise(() => {});
    },
  });
  const caller = new AbortController();
  await host.ready({ signal: caller.signal });
  const session = await host.session();
  const calls = [{}, { signal: caller.signal }].flatMap((options) =>
    names.flatMap((name) => [
      session.tool(`mcp.${name}.hang`, {}, options),
      session.tool("mcp.s1.hang", {}, options),
      session.tool("wait", {}, options),
    ])
  );
  const started = async (): Promise<number> =>
    (await host.readEvents({ stream: `session:${session.id}` })).filter(({ type }) => type === "tool.started").length;
  await until(() => asks === 32);
  while (await started() < 58) await until(() => true);
  expect(most).toBe(1);
  await host.close();
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set(["denied", "unknown"]));
  expect(listeners.get(caller.signal)?.size).toBe(0);
});
