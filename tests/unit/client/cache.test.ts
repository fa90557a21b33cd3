import { describe, expect, test } from "vitest";
import { ResponseCache, type ResponseCacheOptions } from "../../../src/client/cache.ts";
import type { Reply } from "../../../src/client/reply.ts";
import { createModernEra } from "../../../src/protocol/modern.ts";
import { createLegacyEra } from "../../../src/protocol/legacy.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const era = createModernEra("2026-07-28", { name: "c", version: "1" }, {});
const done = (result: JsonObject): Reply => ({ kind: "done", result, bytes: 1, resends: 0 });
const good = (more: JsonObject = {}): JsonObject => ({ ttlMs: 1000, cacheScope: "public", n: 1, ...more });

function open(options: Partial<ResponseCacheOptions> = {}) {
  const clock = new FakeClock();
  const cache = new ResponseCache({ clock, ...options });
  const at = (server = "s", identity: string | null = "me") => {
    const connection = cache.connection(server, identity ?? undefined);
    return {
      hear: connection.hear,
      keep: (method: string, params: JsonObject | undefined, result: JsonObject) =>
        connection.find(era, method, params)?.keep(done(result)),
      find: (method: string, params?: JsonObject) => connection.find(era, method, params)?.found,
      ask: (method: string, params?: JsonObject) => connection.find(era, method, params),
    };
  };
  return { clock, cache, at };
}

describe("cache of answers", () => {
  test("is fresh for ttlMs of monotonic time, and asks for nothing by itself: C-CACHE-03, C-CACHE-04", async () => {
    const { clock, cache, at } = open();
    at().keep("tools/list", undefined, good());
    await clock.advance(999);
    expect(at().find("tools/list")).toEqual(good());
    await clock.advance(1);
    expect([at().find("tools/list"), cache.size, clock.timers]).toEqual([undefined, 0, 0]);
  });

  test.each([0, -1, undefined, null, "1000", NaN, Infinity])("keeps nothing of a ttlMs of %s: C-CACHE-03", (ttlMs) => {
    const { at } = open();
    at().keep("tools/list", undefined, good({ ttlMs }));
    expect(at().find("tools/list")).toBeUndefined();
  });

  test("answers no other method and no other parameters: C-CACHE-01", () => {
    const { at } = open();
    at().keep("resources/read", { uri: "a" }, good());
    at().keep("tools/list", { cursor: "" }, good({ n: 2 }));
    expect(at().find("resources/read", { uri: "a" })).toEqual(good());
    expect(at().find("resources/read", { uri: "a", _meta: { traceparent: "x" } }), "metadata").toEqual(good());
    expect(at().find("tools/list", { cursor: "" }), "an empty cursor is one").toEqual(good({ n: 2 }));
    for (
      const [method, params] of [
        ["resources/read", { uri: "b" }],
        ["resources/read", { uri: "a", more: 1 }],
        ["resources/list", { uri: "a" }],
        ["tools/list", undefined],
        ["tools/list", { cursor: "x" }],
      ] as const
    ) expect(at().find(method, params), method).toBeUndefined();
  });

  test.each(["tools/call", "prompts/get", "completion/complete", "tasks/get", "subscriptions/listen", "constructor"])(
    "has no part in %s",
    (method) => expect(open().at().ask(method, {})).toBeUndefined(),
  );

  test("has no part in what servers of other revisions say", () => {
    expect(open().cache.connection("s", "me").find(createLegacyEra(), "tools/list", undefined)).toBeUndefined();
  });

  test("gives private answers to their identity alone and public ones to all of a server: C-CACHE-02", () => {
    const { at } = open();
    const mine = at("s", "me");
    mine.keep("tools/list", undefined, good({ cacheScope: "private" }));
    mine.keep("prompts/list", undefined, good({ cacheScope: "secret" }));
    mine.keep("resources/list", undefined, good());
    expect([mine.find("tools/list"), mine.find("prompts/list"), mine.find("resources/list")]).not.toContain(undefined);
    for (const other of [at("s", "you"), at("s", null), at("s", "me ")]) {
      expect([other.find("tools/list"), other.find("prompts/list")]).toEqual([undefined, undefined]);
      expect(other.find("resources/list")).toEqual(good());
    }
    expect(at("t", "me").find("resources/list"), "another server").toBeUndefined();
    const alone = at("s", null);
    alone.keep("tools/list", undefined, good({ cacheScope: "private" }));
    expect([alone.find("tools/list") !== undefined, at("s", null).find("tools/list")]).toEqual([true, undefined]);
  });

  test("keeps an answer only for the revision that it was given in", () => {
    const { cache } = open();
    const connection = cache.connection("s", "me");
    connection.find(era, "tools/list", undefined)?.keep(done(good()));
    const later = createModernEra("2099-01-01", { name: "c", version: "1" }, {});
    expect(connection.find(later, "tools/list", undefined)).toMatchObject({ found: undefined });
  });

  const notices: [method: string, params: unknown, dropped: string[]][] = [
    ["notifications/tools/list_changed", undefined, ["tools/list", "tools/list page"]],
    ["notifications/prompts/list_changed", undefined, ["prompts/list"]],
    ["notifications/resources/list_changed", undefined, ["resources/list", "resources/templates/list"]],
    ["notifications/resources/updated", { uri: "file:///a" }, ["file:///a"]],
    ["notifications/resources/updated", { uri: "file:///a/b" }, ["file:///a"]],
    ["notifications/resources/updated", undefined, ["file:///a", "file:///c"]],
    ["notifications/message", {}, []],
    ["notifications/progress", {}, []],
  ];
  test.each(notices)(
    "%s with %j makes stale what it tells of, all pages of it: C-CACHE-05",
    (method, params, dropped) => {
      const { at } = open();
      const requests: [name: string, method: string, params?: JsonObject][] = [
        ["tools/list", "tools/list"],
        ["tools/list page", "tools/list", { cursor: "2" }],
        ["prompts/list", "prompts/list"],
        ["resources/list", "resources/list"],
        ["resources/templates/list", "resources/templates/list"],
        ["file:///a", "resources/read", { uri: "file:///a" }],
        ["file:///c", "resources/read", { uri: "file:///c" }],
      ];
      const scopes = ["public", "private"];
      for (const [at_, [, of, by]] of requests.entries()) {
        at().keep(of, by, good({ cacheScope: scopes[at_ % 2]! }));
        at("other").keep(of, by, good());
      }
      at("s", "somebody else").hear(method, params);
      at().hear(method, params);
      expect(requests.filter(([, of, by]) => at().find(of, by) === undefined).map(([name]) => name)).toEqual(dropped);
      expect(requests.every(([, of, by]) => at("other").find(of, by) !== undefined), "another server").toBe(true);
    },
  );

  test("takes no answer to what was asked before a change was told: C-CACHE-05", () => {
    const { at } = open();
    const asked = at().ask("tools/list")!;
    at().hear("notifications/tools/list_changed", undefined);
    asked.keep(done(good()));
    expect(at().find("tools/list")).toBeUndefined();
  });

  test("each page has its own time, and an expired one is asked for by its cursor: C-CACHE-06", async () => {
    const { clock, at } = open();
    at().keep("tools/list", undefined, good({ ttlMs: 5000, nextCursor: "2" }));
    at().keep("tools/list", { cursor: "2" }, good({ ttlMs: 1000 }));
    await clock.advance(2000);
    expect([at().find("tools/list") !== undefined, at().find("tools/list", { cursor: "2" })]).toEqual([
      true,
      undefined,
    ]);
  });

  test("keeps no answer but a complete one, and none to a round of input: C-CACHE-08, C-MRTR-07", () => {
    const { at } = open();
    const ask = () => at().ask("resources/read", { uri: "a" })!;
    ask().keep(done(good({ resultType: "input_required" })));
    ask().keep({ kind: "input_required", inputRequests: {}, requestState: "s", bytes: 1, resends: 0 });
    ask().keep({ kind: "task", task: good(), bytes: 1, resends: 0 });
    ask().keep({ ...done(good()), spills: [] } as Reply);
    expect(ask().found).toBeUndefined();
    expect(at().ask("resources/read", { uri: "a", inputResponses: {} })).toBeUndefined();
    expect(at().ask("resources/read", { uri: "a", requestState: "s" })).toBeUndefined();
  });

  test("gives each caller an answer of its own", () => {
    const { at } = open();
    const result = good({ tools: [{ name: "a" }] });
    at().keep("tools/list", undefined, result);
    (result["tools"] as JsonObject[]).length = 0;
    (at().find("tools/list")!["tools"] as JsonObject[]).length = 0;
    expect(at().find("tools/list")).toEqual(good({ tools: [{ name: "a" }] }));
  });

  test("lets go of the oldest beyond its bounds, and of what is newer said", () => {
    const { cache, at } = open({ maxEntries: 2, maxLength: 400 });
    for (const uri of ["a", "b", "c"]) at().keep("resources/read", { uri }, good());
    expect([cache.size, at().find("resources/read", { uri: "a" })]).toEqual([2, undefined]);
    at().keep("resources/read", { uri: "d" }, good({ text: "x".repeat(300) }));
    expect([cache.size, at().find("resources/read", { uri: "d" }) !== undefined]).toEqual([2, true]);
    at().keep("resources/read", { uri: "e" }, good({ text: "x".repeat(300) }));
    expect([cache.size, at().find("resources/read", { uri: "e" }) !== undefined]).toEqual([1, true]);
    at().keep("resources/read", { uri: "f" }, good({ text: "x".repeat(500) }));
    expect(at().find("resources/read", { uri: "f" }), "alone over the bound").toBeUndefined();
    at().keep("resources/read", { uri: "g" }, good({ n: 2n }));
    expect(at().find("resources/read", { uri: "g" }), "no JSON").toBeUndefined();
  });

  test("a private answer takes the place of the public one, and one that is old at once of both", async () => {
    const { clock, at } = open();
    at().keep("tools/list", undefined, good());
    const asked = at().ask("tools/list")!;
    asked.keep(done(good({ cacheScope: "private" })));
    expect([at().find("tools/list") !== undefined, at("s", "you").find("tools/list")]).toEqual([true, undefined]);
    asked.keep(done(good({ ttlMs: 0 })));
    expect(at().find("tools/list")).toBeUndefined();
    expect(clock.timers).toBe(0);
  });
});
