import { describe, expect, it } from "vitest";
import { complete, createCompleter } from "../../../src/client/completion.ts";
import { askForLogs } from "../../../src/client/logging.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { fakeRequester, FIRST, MODERN, remote } from "./fake_requester.ts";

const capabilities = { completions: {} };
const query = { of: { prompt: "review" }, argument: { name: "repo", value: "p" } };
const values = (...texts: unknown[]): { completion: object } => ({ completion: { values: texts } });

describe("completion", () => {
  it("asks about an argument of a prompt and a variable of a template", async () => {
    const client = fakeRequester(() => ({ completion: { values: ["a"], total: 7, hasMore: true } }), { capabilities });
    expect(await complete(client, query)).toEqual({ values: ["a"], total: 7, hasMore: true });
    await complete(client, { of: { template: "a:{x}" }, argument: { name: "x", value: "" }, known: { y: "1" } });
    expect(client.sent.map(([, params]) => params)).toEqual([
      { ref: { type: "ref/prompt", name: "review" }, argument: { name: "repo", value: "p" } },
      {
        ref: { type: "ref/resource", uri: "a:{x}" },
        argument: { name: "x", value: "" },
        context: { arguments: { y: "1" } },
      },
    ]);
  });

  it("takes what there is: at most 100 values, none that is no text (C-COMP-01)", async () => {
    const many = fakeRequester(() => values(...Array.from({ length: 101 }, (_, at) => `v${at}`)), { capabilities });
    const completion = await complete(many, query);
    expect(completion.values).toHaveLength(100);
    expect(completion.hasMore).toBe(true);
    expect(await complete(fakeRequester(() => values("a", 1, null), { capabilities }), query)).toEqual({
      values: ["a"],
      hasMore: false,
    });
    await expect(complete(fakeRequester(() => ({ completion: {} }), { capabilities }), query)).rejects.toMatchObject({
      code: "ERR_PROTOCOL",
    });
  });

  it("is asked for where it is declared, and tried where the revision has no word for it (C-LIFE-06)", async () => {
    const silent = fakeRequester(() => values("a"));
    expect((await complete(silent, query)).values).toEqual([]);
    expect(silent.sent).toEqual([]);
    const first = fakeRequester(() => values("a"), { protocolVersion: FIRST });
    expect((await complete(first, query)).values).toEqual(["a"]);
    const none = fakeRequester(() => remote(-32601), { protocolVersion: FIRST });
    expect((await complete(none, query)).values).toEqual([]);
  });

  it("is kept for a while, and a failure is not (C-COMP-01)", async () => {
    const clock = new FakeClock();
    let isBroken = true;
    const client = fakeRequester(() => isBroken ? remote(-32603) : values("a"), { capabilities });
    const completer = createCompleter(client, { clock, keepMs: 1000, maxKept: 2 });
    await expect(completer(query)).rejects.toMatchObject({ code: -32603 });
    isBroken = false;
    await Promise.all([completer(query), completer(query)]);
    await completer(query);
    expect(client.sent).toHaveLength(2);
    await clock.advance(1000);
    await completer(query);
    expect(client.sent).toHaveLength(3);
    for (const value of ["x", "y"]) await completer({ ...query, argument: { name: "repo", value } });
    await completer(query);
    expect(client.sent).toHaveLength(6);
  });

  it("a caller that gives up leaves the others waiting", async () => {
    const client = fakeRequester(() => values("a"), { capabilities });
    const completer = createCompleter(client);
    const gone = completer(query, { signal: AbortSignal.abort() });
    const other = completer(query);
    await expect(gone).rejects.toMatchObject({ code: "ERR_CANCELLED" });
    expect((await other).values).toEqual(["a"]);
    expect(client.sent).toHaveLength(1);
  });
});

describe("log level", () => {
  it("is told once where the server keeps it, and with each request where it does not (C-LOG-01)", async () => {
    const legacy = fakeRequester(() => ({}), { capabilities: { logging: {} } });
    expect(await askForLogs(legacy, "warning")).toEqual({ logLevel: "warning" });
    expect(legacy.sent).toEqual([["logging/setLevel", { level: "warning" }]]);
    const modern = fakeRequester(() => ({}), { protocolVersion: MODERN });
    expect(await askForLogs(modern, "debug")).toEqual({ logLevel: "debug" });
    expect(modern.sent).toEqual([]);
  });

  it("is not told to a server that does not log (C-LIFE-06)", async () => {
    const client = fakeRequester(() => ({}));
    await askForLogs(client, "warning");
    expect(client.sent).toEqual([]);
  });
});
