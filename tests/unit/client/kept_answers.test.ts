import { describe, expect, test } from "vitest";
import { ResponseCache } from "../../../src/client/cache.ts";
import type { RequestOptions } from "../../../src/client/client.ts";
import { listAllPages } from "../../../src/client/pages.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { traceContext } from "../../../src/protocol/trace.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { events } from "../transport/scripted_fetch.ts";
import { type WebAct, webClient, type WebScene } from "./web_server.ts";

const good = (more: JsonObject): object => ({
  result: { resultType: "complete", ttlMs: 60_000, cacheScope: "private", ...more },
});

describe("a client with a cache", () => {
  const open = async (script: Record<string, WebAct>): Promise<WebScene & { readonly cache: ResponseCache }> => {
    const cache = new ResponseCache({ clock: new FakeClock() });
    return { ...await webClient(script, { cache, identity: "me" }), cache };
  };
  const count = ({ heard }: WebScene, method: string): number => heard.filter((each) => each.method === method).length;

  test("asks once for what is good for a while, and again when it is told to: C-CACHE-03", async () => {
    const scene = await open({ "resources/read": ({ params }) => good({ contents: [params["uri"]] }) });
    const read = (uri: string, options?: RequestOptions) => scene.client.request("resources/read", { uri }, options);
    expect(await read("a")).toMatchObject({ kind: "done", resends: 0 });
    const again = await read("a");
    expect(again).toEqual({ kind: "done", result: expect.objectContaining({ contents: ["a"] }), bytes: 0, resends: 0 });
    expect(await read("b")).toMatchObject({ result: { contents: ["b"] } });
    expect(count(scene, "resources/read")).toBe(2);
    await read("a", { fresh: true });
    expect(count(scene, "resources/read")).toBe(3);
  });

  test("never keeps a call", async () => {
    const scene = await open({ "tools/call": () => good({ content: [] }) });
    for (let n = 0; n < 2; n++) await scene.client.callTool("t", {});
    expect([count(scene, "tools/call"), scene.cache.size]).toEqual([2, 0]);
  });

  test("never keeps what asks for input, nor the answer to a further round: C-CACHE-08, C-MRTR-07", async () => {
    const scene = await open({
      "resources/read": ({ params }) =>
        params["requestState"] === undefined
          ? good({ resultType: "input_required", requestState: "s" })
          : good({ contents: [] }),
    });
    for (const params of [{ uri: "a" }, { uri: "a", requestState: "s" }, { uri: "a" }]) {
      await scene.client.request("resources/read", params);
    }
    expect([count(scene, "resources/read"), scene.cache.size]).toEqual([3, 0]);
  });

  test("asks for the pages of a list by themselves, and anew for all where a cursor is not known any more: C-CACHE-06, C-CACHE-07", async () => {
    let known = "p2";
    const scene = await open({
      "resources/list": ({ params }) => {
        const { cursor } = params as { cursor?: string };
        if (cursor === undefined) return good({ resources: [known], nextCursor: known });
        return cursor === known
          ? { result: { resources: ["last"], ttlMs: 0 } }
          : { error: { code: -32602, message: "bad cursor" } };
      },
    });
    const list = () =>
      listAllPages(scene.client, scene.clock, "resources/list", (result) => ({
        items: result["resources"] as string[],
        malformed: [],
        nextCursor: result["nextCursor"] as string | undefined,
      }), {});
    expect((await list()).items).toEqual(["p2", "last"]);
    expect((await list()).items).toEqual(["p2", "last"]);
    expect(count(scene, "resources/list"), "the first page is kept, the second is not").toBe(3);
    known = "p3";
    expect((await list()).items).toEqual(["p3", "last"]);
    expect(scene.heard.slice(-3).map(({ params }) => params["cursor"])).toEqual(["p2", undefined, "p3"]);
  });

  test("hears of changes before its owner does: C-CACHE-05", async () => {
    const cache = new ResponseCache({ clock: new FakeClock() });
    let sizeAtNotice: number | undefined;
    const { client, heard } = await webClient({
      "tools/list": () => good({ tools: [] }),
      "subscriptions/listen": ({ id }) =>
        events(
          `data: ${
            JSON.stringify({
              jsonrpc: "2.0",
              method: "notifications/tools/list_changed",
              params: { _meta: { "io.modelcontextprotocol/subscriptionId": id } },
            })
          }\n\n`,
        ),
    }, { cache, onNotification: () => sizeAtNotice = cache.size });
    await client.listTools();
    await client.listTools();
    expect([heard.length, cache.size]).toEqual([1, 1]);
    await client.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, {
      standing: { admit: () => "admitted", leave: () => {} },
    });
    await settle();
    expect(sizeAtNotice).toBe(0);
    await client.listTools();
    expect(heard.filter(({ method }) => method === "tools/list")).toHaveLength(2);
  });
});

describe("metadata that goes out with a request", () => {
  const TRACE = traceContext({
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    tracestate: "a=b",
  });
  const VERSION = "io.modelcontextprotocol/protocolVersion";

  test("holds the trace and the level of its log messages, beside what the revision wants: C-META-05, C-LOG-01", async () => {
    const { client, heard } = await webClient({ "tools/call": () => ({ result: { content: [] } }) });
    await client.callTool("t", { a: 1 }, { trace: TRACE, logLevel: "warning" });
    await client.callTool("t", {});
    expect(heard[0]!.params).toMatchObject({
      name: "t",
      arguments: { a: 1 },
      _meta: { ...TRACE, "io.modelcontextprotocol/logLevel": "warning", [VERSION]: "2026-07-28" },
    });
    expect(Object.keys(heard[1]!.params._meta!).sort(), "nothing of it unasked").toEqual([
      "io.modelcontextprotocol/clientCapabilities",
      "io.modelcontextprotocol/clientInfo",
      VERSION,
      "progressToken",
    ]);
  });

  test("is not sent where it is no object: C-META-04", async () => {
    const { client, heard } = await webClient({});
    const failed = { kind: "failed", sent: false, error: { code: "ERR_INVALID_ARGUMENTS" } };
    for (const options of [{}, { logLevel: "error" }, { trace: TRACE }] as const) {
      expect(await client.request("x", { _meta: 5 }, options)).toMatchObject(failed);
    }
    expect(heard).toEqual([]);
  });

  test("keeps what a caller has put there, but for what the revision rules", async () => {
    const { client, heard } = await webClient({});
    await client.request("x", { _meta: { "com.example/a": 1, [VERSION]: "1999-01-01" } });
    expect(heard[0]!.params._meta).toMatchObject({ "com.example/a": 1, [VERSION]: "2026-07-28" });
  });

  test("shows the extensions of both ends: C-EXT-01, C-EXT-02", async () => {
    const extensions = { "com.example/mine": { a: 1 } };
    const { client, heard } = await webClient(
      { "tools/call": () => ({ result: { resultType: "task", taskId: "1" } }) },
      { capabilities: { extensions } },
      { tools: {}, extensions: { "com.example/theirs": {} } },
    );
    expect(client.facts.capabilities.extensions).toEqual({ "com.example/theirs": {} });
    expect(await client.callTool("t", {}), "a result of an extension that was not declared: C-RES-01").toMatchObject({
      kind: "failed",
      error: { code: "ERR_PROTOCOL" },
    });
    expect(heard[0]!.params._meta!["io.modelcontextprotocol/clientCapabilities"]).toMatchObject({ extensions });
  });

  test("says on every request which revision, who and what can be asked: C-META-01, C-META-02, C-META-06", async () => {
    const { client, heard } = await webClient({}, {
      clientInfo: { name: "me", version: "9" },
      capabilities: { roots: {}, sampling: {}, elicitation: {} },
    });
    await client.request("tools/call", { name: "t" });
    await client.request("resources/list", undefined);
    for (const { params } of heard) {
      expect(params._meta).toMatchObject({
        [VERSION]: "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "me", version: "9" },
        "io.modelcontextprotocol/clientCapabilities": { roots: {}, sampling: {}, elicitation: {} },
      });
    }
  });

  const results: [claim: string, result: JsonObject, kind: string][] = [
    ["an unknown kind", { resultType: "future", content: [] }, "failed"],
    ["a kind that is no text", { resultType: 5, content: [] }, "failed"],
    ["no kind, which counts as complete: C-VER-09", { content: [] }, "done"],
    ["a complete one", { resultType: "complete", content: [] }, "done"],
  ];
  test.each(results)("a result of %s (C-RES-01)", async (_claim, result, kind) => {
    const { client } = await webClient({ "tools/call": () => ({ result }) });
    expect((await client.callTool("t", {})).kind).toBe(kind);
  });

  test("errors of the range that means nothing are passed on as they are: C-RPC-13", async () => {
    for (const code of [-32000, -32001, -32004, -32019, -32042]) {
      const { client, heard } = await webClient({ "tools/call": () => ({ error: { code, message: "x" } }) });
      expect(await client.callTool("t", {})).toMatchObject({ kind: "failed", error: { code }, resends: 0 });
      expect([heard.length, client.isOpen]).toEqual([1, true]);
    }
  });
});
