import { expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";

const base = { runtime: fakeRuntime({}), localTools: [{ name: "r", risk: "read", inputSchema: {}, run: () => "ran" }] };

it.each<[string, Record<string, unknown>]>([
  ["a secret without a value", { secrets: [{ label: "T", value: undefined }] }],
  ["a secret that is nothing", { secrets: [null] }],
  ["servers that are no list", { servers: {} }],
  ["no starts at a time", { maxParallelStarts: 0 }],
  ["no number of starts", { maxParallelStarts: NaN }],
])("a host with %s is refused", async (_what, options) => {
  await expect(createHost({ ...base, ...options } as HostOptions)).rejects.toMatchObject({ code: "ERR_CONFIG" });
});

it.each<[string, unknown]>([
  ["null", null],
  ["a signal that is none", { signal: {} }],
  ["an unknown way to ask", { onAsk: "bogus" }],
  ["a turn that is no text", { turnId: {} }],
])("a call with %s as options is refused", async (_what, options) => {
  const host = await createHost(base as unknown as HostOptions);
  const session = await host.session();
  await expect(session.tool("r", {}, options as never)).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  await expect(host.syncGlobalMcpServers({} as never)).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  await host.close();
});
