import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { until } from "../../fixtures/settle.ts";
import { rejection } from "../servers/supervisor_setup.ts";

const never = (): Promise<never> => new Promise(() => {});
const failing = (): Promise<never> => Promise.reject(new Error("down"));
const gate = (close: () => unknown): HostOptions["gate"] => ({
  decide: never,
  endSession: () => {},
  close: () => void close(),
});

async function closing(options: Partial<HostOptions>) {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const host = await createHost({
    runtime: fakeRuntime({}),
    clock,
    onError: (error) => errors.push(error),
    ...options,
  });
  let isClosed = false;
  void host.close().then(() => isClosed = true);
  await clock.advance(10_000);
  await until(() => isClosed);
  return { errors, clock };
}

describe("a host that closes", () => {
  it.each<[string, Partial<HostOptions>]>([
    ["store of artifacts", { artifacts: Object.assign(memoryArtifacts(), { close: never }) }],
    ["store of asks", { store: Object.assign(memoryKeyValue(), { close: never }) }],
    ["gate", { gate: { ...gate(never)!, close: never as () => void } }],
  ])("waits for a %s of the user's for ten seconds and no longer", async (part, options) => {
    const { errors, clock } = await closing(options);
    expect(errors).toMatchObject([{ code: "ERR_TIMEOUT", message: expect.stringContaining(part) }]);
    expect(clock.timers).toBe(0);
  });

  it.each<[string, Partial<HostOptions>]>([
    ["store of artifacts", { artifacts: Object.assign(memoryArtifacts(), { close: failing }) }],
    ["store of asks", { store: Object.assign(memoryKeyValue(), { close: failing }) }],
    ["gate", { gate: { ...gate(never)!, close: failing as () => void } }],
  ])("reports a %s of the user's that fails to close", async (_part, options) => {
    expect((await closing(options)).errors).toEqual([new Error("down")]);
  });
});

describe("maxOutputBytes", () => {
  it("bounds the text of a result", async () => {
    const host = await createHost({
      runtime: fakeRuntime({}),
      maxOutputBytes: 5000,
      permission: { rules: [{ decision: "allow" }] },
      localTools: [{ name: "long", risk: "read", inputSchema: {}, run: () => "x".repeat(100_000) }],
    });
    const outcome = await (await host.session()).tool("long");
    expect(outcome.truncated).toBe(true);
    expect(outcome.output.length).toBeLessThanOrEqual(5000);
    await host.close();
  });

  it.each([0, 1023, 1.5, Number.NaN, "9999"])("%s is refused before anything starts", async (maxOutputBytes) => {
    const opened = createHost({ runtime: fakeRuntime({}), maxOutputBytes: maxOutputBytes as number });
    expect(await rejection(opened)).toMatchObject({ code: "ERR_CONFIG" });
  });
});
