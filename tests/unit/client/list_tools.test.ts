import { describe, expect, test } from "vitest";
import { connectClient } from "../../../src/client/connect.ts";
import type { Client, ConnectOptions } from "../../../src/client/client.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { answer, discovered, failure, type Script, ScriptedServer } from "../protocol/scripted_server.ts";

const MODERN = "2026-07-28";
const tool = (name: string): object => ({ name, inputSchema: { type: "object" } });

/** A server whose pages are given by cursor; the first has none. */
async function connect(
  pages: (cursor: string | undefined) => object | undefined,
  options: Partial<ConnectOptions> = {},
): Promise<{ client: Client; clock: FakeClock; cursors: (string | undefined)[] }> {
  const cursors: (string | undefined)[] = [];
  const clock = new FakeClock();
  const server = new ScriptedServer({
    "server/discover": discovered(MODERN),
    "tools/list": (_connection, _id, params) => {
      const { cursor } = params as { cursor?: string };
      cursors.push(cursor);
      return pages(cursor);
    },
  });
  const client = await connectClient({ dialer: server.dialer, clock, ...options });
  return { client, clock, cursors };
}

const names = (list: { readonly tools: readonly { readonly name: string }[] }): string[] =>
  list.tools.map(({ name }) => name);

describe("list of tools", () => {
  test("is all pages, each asked for with the cursor of the one before (C-PAGE-01, C-PAGE-02)", async () => {
    const { client, cursors } = await connect((cursor) => {
      const at = Number(cursor ?? 0);
      return answer({ tools: [tool(`t${at}`)], ...(at < 2 ? { nextCursor: String(at + 1) } : {}) });
    });
    expect(await client.listTools()).toEqual({ tools: ["t0", "t1", "t2"].map(tool), malformed: [] });
    expect(cursors).toEqual([undefined, "1", "2"]);
  });

  test("an empty cursor is a cursor, null is none (C-PAGE-04)", async () => {
    const { client, cursors } = await connect((cursor) =>
      cursor === undefined
        ? answer({ tools: [tool("a")], nextCursor: "" })
        : answer({ tools: [tool("b")], nextCursor: null })
    );
    expect(names(await client.listTools())).toEqual(["a", "b"]);
    expect(cursors).toEqual([undefined, ""]);
  });

  test.each([
    ["the same each time", (_cursor: string | undefined) => "x", 2],
    ["A, B, A", (cursor: string | undefined) => (cursor === "A" ? "B" : "A"), 3],
    ["empty each time", () => "", 2],
  ])("a cursor that comes again (%s) ends it, and what was read is kept", async (_claim, next, pages) => {
    const { client, cursors } = await connect((cursor) =>
      answer({ tools: [tool(`t${cursor ?? ""}`)], nextCursor: next(cursor) })
    );
    const list = await client.listTools();
    expect(list.truncated).toBe("repeated_cursor");
    expect(list.tools).toHaveLength(pages);
    expect(cursors).toHaveLength(pages);
  });

  test("new cursors for ever end at the limit on pages", async () => {
    let page = 0;
    const { client, cursors } = await connect(() => answer({ tools: [], nextCursor: `c${page++}` }));
    expect((await client.listTools()).truncated).toBe("pages");
    expect(cursors).toHaveLength(100);
    expect(await client.listTools({ maxPages: 3 })).toEqual({ tools: [], malformed: [], truncated: "pages" });
    expect(cursors).toHaveLength(103);
  });

  const caps: [total: number, maxTools: number | undefined, found: number, truncated: string | undefined][] = [
    [1000, undefined, 1000, undefined],
    [1001, undefined, 1000, "tools"],
    [5, 5, 5, undefined],
    [6, 5, 5, "tools"],
    [0, 1, 0, undefined],
  ];
  test.each(caps)("%i tools under a limit of %s are %i (A-28)", async (total, maxTools, found, truncated) => {
    for (const perPage of [total || 1, 2]) {
      const { client } = await connect((cursor) => {
        const from = Number(cursor ?? 0);
        const to = Math.min(total, from + perPage);
        return answer({
          tools: Array.from({ length: to - from }, (_, at) => tool(`t${from + at}`)),
          ...(to < total ? { nextCursor: String(to) } : {}),
        });
      });
      const list = await client.listTools({ maxPages: 1000, ...(maxTools === undefined ? {} : { maxTools }) });
      expect([list.tools.length, list.truncated]).toEqual([found, truncated]);
    }
  });

  test("names the entries that are of no use, as many as it may have tools", async () => {
    const { client } = await connect(() =>
      answer({ tools: [tool("good"), ...Array.from({ length: 50 }, (_, at) => ({ name: `bad${at}` }))] })
    );
    const list = await client.listTools({ maxTools: 10 });
    expect(names(list)).toEqual(["good"]);
    expect(list.malformed).toHaveLength(10);
    expect(list.malformed[0]).toMatchObject({ name: "bad0", why: expect.stringContaining("inputSchema") });
  });

  test("tools of one name are all there: which one counts is not decided here (FR-47)", async () => {
    const { client } = await connect(() => answer({ tools: [tool("same"), tool("same")] }));
    expect(names(await client.listTools())).toEqual(["same", "same"]);
  });

  test("is empty where the server offers no tools, and is not asked for", async () => {
    const server = new ScriptedServer({
      "server/discover": answer({ supportedVersions: [MODERN], capabilities: { prompts: {} } }),
    });
    const client = await connectClient({ dialer: server.dialer, clock: new FakeClock() });
    expect(await client.listTools()).toEqual({ tools: [], malformed: [] });
    expect(server.heard).toEqual(["server/discover"]);
  });

  test("is empty where the server says so and does not know the method", async () => {
    const { client } = await connect(() => failure(-32601));
    expect(await client.listTools()).toEqual({ tools: [], malformed: [] });
  });

  const failures: [claim: string, second: object | undefined, error: object][] = [
    ["an error", failure(-32602), { code: -32602 }],
    ["an unknown method on a later page", failure(-32601), { code: -32601 }],
    ["no list", answer({}), { code: "ERR_PROTOCOL" }],
    ["a result that asks for input", answer({ resultType: "input_required", requestState: "s" }), {
      code: "ERR_PROTOCOL",
    }],
    ["a cursor over 64 KiB", answer({ tools: [], nextCursor: "c".repeat((64 << 10) + 1) }), { code: "ERR_TOO_LARGE" }],
  ];
  test.each(failures)("rejects with what a page fails with: %s", async (_claim, second, error) => {
    const { client } = await connect((cursor) =>
      cursor === undefined ? answer({ tools: [tool("a")], nextCursor: "2" }) : second
    );
    await expect(client.listTools()).rejects.toMatchObject(error);
  });

  test("a cursor of 64 KiB is sent back as it is", async () => {
    const long = "c".repeat(64 << 10);
    const { client, cursors } = await connect((cursor) =>
      answer({ tools: [], ...(cursor === undefined ? { nextCursor: long } : {}) })
    );
    await client.listTools();
    expect(cursors[1]).toBe(long);
  });

  test("slow pages end at the total, not at the limit of each", async () => {
    const { client, clock, cursors } = await connect(() => undefined);
    const second = await connect((cursor) =>
      cursor === undefined ? answer({ tools: [tool("a")], nextCursor: "2" }) : undefined
    );
    let error: unknown;
    void client.listTools({ timeoutMs: 10_000, maxTotalMs: 1000 }).catch((cause: unknown) => error = cause);
    await clock.advance(1000);
    expect(error).toMatchObject({ code: "ERR_TIMEOUT" });
    expect(cursors).toHaveLength(1);
    const late = second.client.listTools({ timeoutMs: 1000, maxTotalMs: 700 });
    await second.clock.advance(700);
    expect(await late).toMatchObject({ tools: [{ name: "a" }], truncated: "time" });
  });

  test("ends with its signal", async () => {
    const { client } = await connect(() => undefined);
    const controller = new AbortController();
    const listing = client.listTools({ signal: controller.signal });
    controller.abort();
    await expect(listing).rejects.toMatchObject({ code: "ERR_CANCELLED" });
  });
});

describe("script of the fixture", () => {
  test("knows no method it was not told", async () => {
    const script: Script = { "server/discover": discovered(MODERN) };
    const client = await connectClient({ dialer: new ScriptedServer(script).dialer, clock: new FakeClock() });
    expect(client.facts).toMatchObject({ era: "modern", protocolVersion: MODERN });
  });
});
