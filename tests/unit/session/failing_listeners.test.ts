import { expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { settle } from "../../fixtures/settle.ts";

// What rejects here without anybody who takes it ends the process, and with it this file.

const later = (text: string) => (): void => Promise.reject(new Error(text)) as unknown as void;

async function host(options: Partial<HostOptions> = {}) {
  const errors: unknown[] = [];
  const made = await createHost({
    runtime: fakeRuntime({ echo: { tools: ["echo"] } }),
    servers: [{ name: "s", command: "echo" }],
    localTools: [{
      name: "steps",
      risk: "read",
      inputSchema: {},
      run: (_args, { onProgress }) => {
        onProgress?.({ progress: 1 });
        return "done";
      },
    }],
    onError: (error) => void errors.push(error),
    ...options,
  });
  await made.ready();
  return { host: made, errors, session: await made.session({ id: "a" }) };
}

it("progress that a caller's listener rejects later is a fault of that listener and not of the call", async () => {
  const scene = await host();
  const outcome = await scene.session.tool("steps", {}, { onProgress: later("progress") });
  await settle();
  expect(outcome.status).toBe("completed");
  expect(scene.errors).toEqual([new Error("progress")]);
  await scene.host.close();
});

it("a listener for errors may itself reject", async () => {
  const scene = await host({ onError: later("errors") });
  const outcome = await scene.session.tool("steps", {}, { onProgress: later("progress") });
  await settle();
  expect(outcome.status).toBe("completed");
  await scene.host.close();
});

it("an approver that fails has decided nothing: the call is denied, the log says so, and its error is reported", async () => {
  const scene = await host({
    approve: () => Promise.reject(new TypeError("approve")),
    permission: { rules: [{ tool: "steps", decision: "ask" }] },
  });
  expect(await scene.session.tool("steps", {})).toMatchObject({
    status: "denied",
    error: {
      message:
        "Call of steps was denied: somebody has to decide and the approve callback failed: it threw TypeError: approve",
    },
  });
  expect(scene.errors).toEqual([new TypeError("approve")]);
  const resolved = (await scene.host.readEvents({ stream: "session:a" })).find(({ type }) =>
    type === "permission.resolved"
  );
  expect(resolved?.payload).toMatchObject({
    decision: "deny",
    actor: "host",
    sourcedFrom: "no_approver",
    reason: "approver_failed: TypeError",
  });
  await scene.host.close();
});

it.each<[string, () => never]>([
  ["rejects", later("cache") as () => never],
  ["throws", () => {
    throw new Error("cache");
  }],
])("a cache of revisions that %s costs a probe, and is reported", async (_how, fail) => {
  const scene = await host({ verdicts: { get: fail, set: fail, delete: fail } });
  await settle();
  expect(scene.host.globalMcpStatus()).toMatchObject([{ name: "s", state: "ready" }]);
  expect(scene.errors.filter((error) => (error as Error).message === "cache").length).toBeGreaterThanOrEqual(2);
  await scene.host.close();
});
