import { describe, expect, test } from "vitest";
import { answerAsk, answering, capabilitiesOf } from "../../../src/client/asks.ts";
import { connectClient } from "../../../src/client/connect.ts";
import { tellRootsChanged } from "../../../src/client/roots.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { settle } from "../../fixtures/settle.ts";
import { answer, initialized, ScriptedServer } from "../protocol/scripted_server.ts";

const CHANGED = "notifications/roots/list_changed";
const roots = [{ uri: "file:///project", name: "project" }];
const asks = answering({ roots: () => roots, rootsListChanged: true });

describe("change of roots", () => {
  test("is declared only where it will be told (C-ROOT-02)", () => {
    const give = (): typeof roots => roots;
    expect(capabilitiesOf({ roots: give, rootsListChanged: true })).toEqual({ roots: { listChanged: true } });
    expect(capabilitiesOf({ roots: give })).toEqual({ roots: {} });
    expect(capabilitiesOf({ rootsListChanged: true })).toEqual({});
  });

  test("is told to servers of the older revisions (C-ROOT-02)", async () => {
    let declared: unknown;
    const server = new ScriptedServer({
      initialize: (_connection, _id, params) => {
        declared = (params as JsonObject)["capabilities"];
        return initialized("2025-11-25");
      },
    });
    const client = await connectClient({ dialer: server.dialer, pin: "2025-11-25", asks });
    tellRootsChanged(client);
    await settle();
    expect(declared).toEqual({ roots: { listChanged: true } });
    expect(server.heard.filter((method) => method === CHANGED)).toHaveLength(1);
    await client.close();
  });

  test("is neither declared nor told where the revision has no such word (C-META-06)", async () => {
    const declared: unknown[] = [];
    const server = new ScriptedServer({
      "server/discover": answer({ supportedVersions: ["2026-07-28"], capabilities: {} }),
      "tools/call": (_connection, _id, params) => {
        const meta = (params as JsonObject)["_meta"] as JsonObject;
        declared.push(meta["io.modelcontextprotocol/clientCapabilities"]);
        return answer({ content: [] });
      },
    });
    const client = await connectClient({ dialer: server.dialer, asks, capabilities: { experimental: { x: {} } } });
    tellRootsChanged(client);
    await client.callTool("t", {});
    expect(declared).toEqual([{ roots: {}, experimental: { x: {} } }]);
    expect(server.heard).not.toContain(CHANGED);
    await client.close();
  });
});

describe("roots that are given", () => {
  const context = { signal: new AbortController().signal };
  const give = (uri: string): Promise<JsonObject> =>
    answerAsk({ roots: () => [...roots, { uri }] }, "roots/list", {}, context);

  test.each([
    "file:///a/../etc",
    "file:///a/..",
    "file:///../a",
    "file:///a/%2e%2E/etc",
    "file:///a/.%2e/etc",
    "file:///a%2f..%2fetc",
    "file:///C:\\a\\..\\Windows",
    "file:///a%5C..%5Cb",
    "file:///a/..?x",
    "file:///a%00/b",
    "https://a.test/",
    "file:/a",
    "javascript:alert(1)",
    "",
  ])("may not lead anywhere but where they say, and then none is given: %s (C-ROOT-04)", async (uri) => {
    await expect(give(uri)).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  });

  test.each([
    "file:///a/..b",
    "file:///a/b..",
    "file:///a/.../c",
    "file:///home/me/.config",
    "file://server/share/a%20b",
  ])(
    "go out as the handler gives them: %s (C-ROOT-04)",
    async (uri) => {
      expect(await give(uri)).toEqual({ roots: [...roots, { uri }] });
    },
  );
});
