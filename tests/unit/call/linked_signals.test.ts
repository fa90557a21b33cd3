import { expect, it } from "vitest";
import { LinkedSignals } from "../../../src/call/linked_signals.ts";

function counted(): { readonly signal: AbortSignal; readonly abort: () => void; listeners(): number } {
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--;
    remove(...args);
  };
  return { signal, abort: () => controller.abort(), listeners: () => listeners };
}

it("linked signals fire with the caller's and with the session", () => {
  const links = new LinkedSignals(() => "caller");
  const [a, b] = [counted(), counted()];
  const [first, second] = [links.take(a.signal), links.take(b.signal)];
  a.abort();
  expect([first.aborted, first.reason, second.aborted]).toEqual([true, "caller", false]);
  links.end("session");
  expect(second.reason).toBe("session");
  expect(b.listeners()).toBe(0);
  expect(links.take(undefined).reason).toBe("session");
  expect(links.take(counted().signal).reason).toBe("session");
});

it("one signal that many calls share is linked once and let go at the end", () => {
  const links = new LinkedSignals(() => "caller");
  const shared = counted();
  const signals = new Set(Array.from({ length: 100 }, () => links.take(shared.signal)));
  expect([signals.size, shared.listeners()]).toEqual([1, 1]);
  for (let call = 0; call < 100; call++) links.giveBack(shared.signal);
  expect(links.take(shared.signal)).toBe([...signals][0]);
  links.end("session");
  expect(shared.listeners()).toBe(0);
});

it("of signals that are used once only a few are kept", () => {
  const links = new LinkedSignals(() => "caller");
  const many = Array.from({ length: 100 }, counted);
  for (const { signal } of many) {
    links.take(signal);
    links.giveBack(signal);
  }
  expect(many.reduce((sum, each) => sum + each.listeners(), 0)).toBeLessThanOrEqual(16);
});

it("a signal that has fired is not kept, and one that fired before gives a fired one", () => {
  const links = new LinkedSignals(() => "caller");
  expect(links.take(AbortSignal.abort()).reason).toBe("caller");
  const fired = counted();
  links.take(fired.signal);
  fired.abort();
  links.giveBack(fired.signal);
  expect(links.take(fired.signal).aborted).toBe(true);
});
