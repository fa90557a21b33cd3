import fc from "fast-check";
import { expect, it } from "vitest";
import { HostError } from "../../../src/kernel/errors.ts";
import { settle } from "../../fixtures/settle.ts";
import { weightedSteps } from "../../fixtures/weighted_steps.ts";
import { type Scene, scene } from "./supervisor_setup.ts";

/** How often each step comes, against the others. */
const STEPS = {
  connect: 6,
  refuse: 2,
  crash: 4,
  restart: 1,
  idle: 1,
  acquire: 3,
  release: 2,
  wait: 8,
  tick: 4,
  log_slow: 1,
  log_fast: 3,
  stop: 0.2,
} as const;
type Step = keyof typeof STEPS;

/** What may follow what in the events of one server. */
const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  "": ["starting", "shutdown"],
  starting: ["ready", "crashed", "restarting", "shutdown"],
  ready: ["crashed", "restarting", "idle_disconnected", "shutdown"],
  // A ready that was overtaken by its own crash is followed by it; so is one that was overtaken by a stop.
  crashed: ["restarting", "permanently_failed", "starting", "shutdown"],
  restarting: ["starting", "shutdown"],
  permanently_failed: ["starting", "shutdown"],
  idle_disconnected: ["starting", "shutdown"],
  shutdown: [],
};

async function run(steps: readonly Step[]): Promise<Scene> {
  const all = scene({ reconnect: "lazy" });
  const { server, connect, clock, sink } = all;
  const leases: { release(): void }[] = [];
  const held: (() => void)[] = [];
  server.supervise();
  for (const step of steps) {
    switch (step) {
      case "connect":
        connect.pending[0]?.succeed();
        break;
      case "refuse":
        connect.pending[0]?.fail(new HostError("ERR_START_FAILED", "No"));
        break;
      case "crash":
        void connect.clients.at(-1)?.end();
        break;
      case "restart":
        server.restart().catch(() => {});
        break;
      case "idle":
        void server.disconnectIfIdle(0);
        break;
      case "acquire":
        server.acquire({ timeoutMs: 3000 }).then((lease) => leases.push(lease), () => {});
        break;
      case "release":
        leases.pop()?.release();
        break;
      case "wait":
        await settle();
        break;
      case "tick":
        await clock.advance(600);
        break;
      case "log_slow":
        sink.beforeAppend = () => new Promise((resolve) => held.push(resolve));
        break;
      case "log_fast":
        sink.beforeAppend = undefined;
        for (const release of held.splice(0)) release();
        break;
      case "stop":
        void server.stop("removed");
        break;
    }
    const { state } = server;
    expect(server.status().connected).toBe(state === "ready");
    const lease = server.tryAcquire();
    expect(lease !== undefined).toBe(state === "ready");
    lease?.release();
  }
  sink.beforeAppend = undefined;
  for (const release of held.splice(0)) release();
  const stopped = server.stop("removed");
  for (const lease of leases) lease.release();
  await clock.advance(5000);
  await stopped;
  return all;
}

it(
  "whatever happens in whatever order: one connection at a time, a legal log, nothing left after the stop",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        weightedSteps(STEPS, { minLength: 10, maxLength: 50 }),
        async (steps) => {
          const { connect, clock, sink, server, errors } = await run(steps);
          expect(errors).toEqual([]);
          expect(server.state).toBe("removed");
          expect(connect.mostOpen).toBeLessThanOrEqual(1);
          expect(connect.pending).toHaveLength(0);
          expect(connect.clients.every((client) => !client.isOpen)).toBe(true);
          expect(clock.timers).toBe(0);
          let before = "";
          for (const event of sink.types.map((type) => type.replace("mcp.server.", ""))) {
            expect(FOLLOWS[before], `${event} after ${before} in ${sink.types.join(", ")}`).toContain(event);
            before = event;
          }
          expect(before).toBe("shutdown");
        },
      ),
      { numRuns: 300 },
    );
  },
  180_000,
);
