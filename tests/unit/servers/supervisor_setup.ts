import { exponentialBackoff, type RestartPolicy } from "../../../src/servers/restart_policy.ts";
import { normaliseServer } from "../../../src/servers/config.ts";
import type { ServerConfigInput } from "../../../src/servers/config_input.ts";
import { Slots } from "../../../src/servers/slots.ts";
import { Supervisor } from "../../../src/servers/supervisor.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { FakeConnect } from "../../fixtures/fake_client.ts";
import { FakeSink } from "../../fixtures/fake_log.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";

export interface Scene {
  readonly clock: FakeClock;
  readonly connect: FakeConnect;
  readonly sink: FakeSink;
  readonly errors: unknown[];
  readonly server: Supervisor;
}

/** One supervised server whose connections the test leads by hand. Delays have no jitter. */
export function scene(
  config: Partial<ServerConfigInput> = {},
  options: { policy?: RestartPolicy; slots?: Slots; dial?: () => never } = {},
): Scene {
  const clock = new FakeClock();
  const connect = new FakeConnect();
  const sink = new FakeSink("host:test");
  const errors: unknown[] = [];
  const server = new Supervisor(normaliseServer({ name: "echo", command: "echo", ...config }), "sha256:test", {
    source: "global",
    append: sink.append,
    connect: connect.connect,
    dial: options.dial ??
      (() => ({
        dialer: { kind: "pipe", name: "stdio", key: "k", dial: () => Promise.reject(new Error("unused")) },
        sandbox: {},
        containment: () => "process_group",
      })),
    clock,
    scrubber: plainScrubber("hunter2hunter2"),
    policy: options.policy ?? exponentialBackoff(() => 0.5),
    slots: options.slots ?? new Slots(8),
    onError: (error) => void errors.push(error),
    onChange: () => {},
  });
  return { clock, connect, sink, errors, server };
}

/** The error that a promise rejects with. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<{ code?: string; message: string; facts?: Record<string, unknown> }> {
  try {
    await promise;
  } catch (error) {
    return error as { code?: string; message: string; facts?: Record<string, unknown> };
  }
  throw new Error("Expected a rejection, got none");
}
