import { afterEach, describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { Host } from "../../../src/host_owner.ts";
import type { ServerConfigInput } from "../../../src/servers/config_input.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { rejection } from "../servers/supervisor_setup.ts";

let host: Host;
afterEach(() => host.close());

const DOTTED = "read.file";

async function open(tools: ServerConfigInput["tools"] = {}) {
  host = await createHost({
    runtime: fakeRuntime({ a: { tools: ["echo", DOTTED] } }),
    servers: [{ name: "a", command: "a", tools }],
    localTools: [{ name: "r", risk: "read", inputSchema: {}, run: () => "ran" }],
    permission: { rules: [{ tool: "*", decision: "allow" }] },
  });
  await host.ready();
  return await host.session({ id: "s" });
}

const LOCAL = ["r", "local.r", "local__r"];
const ECHO = ["echo", "mcp.a.echo", "mcp__a__echo"];

describe("child session", () => {
  it.each([...LOCAL, "loc*"])("does not see a local tool that is denied as %s", async (pattern) => {
    const child = await (await open()).child({ deny: [pattern] });
    for (const name of LOCAL) expect((await child.tool(name, {})).error?.reason, name).toBe("not_found");
    expect(child.toolNames()).not.toContain("r");
  });

  it.each([...ECHO, "mcp__a__*o"])("does not see a server's tool that is denied as %s", async (pattern) => {
    const child = await (await open()).child({ deny: [pattern] });
    for (const name of ECHO) expect((await child.tool(name, {})).error?.reason, name).toBe("not_found");
    expect((await child.tool("r", {})).status).toBe("completed");
  });

  it("does not see a tool that is denied by the alias that stands for a name of other characters", async () => {
    const session = await open();
    const alias = session.toolNames().find((name) => name.startsWith("mcp__a__read_"))!;
    const child = await session.child({ deny: [alias] });
    expect(child.toolNames()).not.toContain(alias);
    expect((await child.tool(`mcp.a.${DOTTED}`, {})).error?.reason).toBe("not_found");
  });

  it.each<[string, unknown]>([["a text", "x"], ["a list with a number", [5]], ["null", null], ["an empty one", [""]]])(
    "refuses %s as patterns",
    async (_what, patterns) => {
      const session = await open();
      for (const name of ["allow", "deny"]) {
        expect(await rejection(session.child({ [name]: patterns }))).toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
      }
    },
  );
});

it.each(ECHO)("a server's tool that its configuration denies as %s does not exist", async (pattern) => {
  const session = await open({ deny: [pattern] });
  expect((await session.tool("mcp.a.echo", {})).error?.reason).toBe("not_found");
  expect(host.globalMcpStatus()).toMatchObject([{ toolCount: 1 }]);
});

it("a filter that answers with a promise is refused, not taken for a yes", async () => {
  const session = await open();
  const filter = (() => Promise.resolve(false)) as unknown as () => boolean;
  expect(() => session.toolNames({ filter })).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
});
