import { describe, expect, it } from "vitest";
import {
  isResourceNotFound,
  listResources,
  listResourceTemplates,
  readResource,
  subscribeResource,
  unsubscribeResource,
  updatedResource,
} from "../../../src/client/resources.ts";
import { RemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { fakeRequester, remote } from "./fake_requester.ts";

const capabilities = { resources: { subscribe: true } };
const resource = (at: number): JsonObject => ({ uri: `test://${at}`, name: `r${at}` });

describe("list of resources", () => {
  it("is all pages, with cursors as they came and an empty one among them (C-PAGE-01 C-PAGE-02 C-PAGE-03 C-PAGE-04)", async () => {
    const pages: Record<string, JsonObject> = {
      first: { resources: [resource(1)], nextCursor: "" },
      "": { resources: [resource(2), resource(3)], nextCursor: "é=" },
      "é=": { resources: [], nextCursor: null },
    };
    const client = fakeRequester((_method, { cursor = "first" }) => pages[cursor as string]!, { capabilities });
    expect((await listResources(client)).items).toEqual([1, 2, 3].map(resource));
    expect(client.sent.map(([, params]) => params)).toEqual([undefined, { cursor: "" }, { cursor: "é=" }]);
  });

  it("is empty, and nothing is asked, where the server declares none (C-LIFE-06)", async () => {
    const client = fakeRequester(() => ({ resources: [resource(1)] }));
    expect(await listResources(client)).toEqual({ items: [], malformed: [] });
    expect(await listResourceTemplates(client)).toEqual({ items: [], malformed: [] });
    expect(client.sent).toEqual([]);
  });

  it("is empty where the server does not know the method after all", async () => {
    const client = fakeRequester(() => remote(-32601), { capabilities });
    expect(await listResourceTemplates(client)).toEqual({ items: [], malformed: [] });
  });

  it("starts anew, once, when a cursor is not known any more", async () => {
    let isForgotten = true;
    const client = fakeRequester((_method, { cursor }) => {
      if (cursor === undefined) return { resources: [resource(1)], nextCursor: "a" };
      if (!isForgotten) return { resources: [resource(2)] };
      isForgotten = false;
      return remote(-32602);
    }, { capabilities });
    expect((await listResources(client)).items).toEqual([resource(1), resource(2)]);
    const never = fakeRequester(
      (_method, { cursor }) => cursor === undefined ? { resources: [], nextCursor: "a" } : remote(-32602),
      { capabilities },
    );
    await expect(listResources(never)).rejects.toMatchObject({ code: -32602 });
    expect(never.sent).toHaveLength(4);
  });

  it.each([
    ["a cap on entries", { maxItems: 3 }, "items", 3],
    ["a cap on pages", { maxPages: 2 }, "pages", 2],
  ])("ends at %s and says so", async (_cap, limits, truncated, length) => {
    let at = 0;
    const client = fakeRequester(() => ({ resources: [resource(++at)], nextCursor: String(at) }), { capabilities });
    const list = await listResources(client, limits);
    expect(list).toMatchObject({ truncated });
    expect(list.items).toHaveLength(length);
  });

  it("keeps what is usable, names the rest, and takes null for what is left out", async () => {
    const client = fakeRequester(() => ({
      resources: [
        { uri: "a:1", name: null, description: null, size: 3, icons: [{ src: "x" }], own: 1 },
        { uri: "", name: "x" },
        { uri: "a:\n", name: "x" },
        { uri: "a:2", name: 5 },
        "a:3",
      ],
    }), { capabilities });
    expect(await listResources(client)).toEqual({
      items: [{ uri: "a:1", name: "a:1", size: 3, icons: [{ src: "x" }], own: 1 }],
      malformed: [
        { name: "", why: "its uri is no text" },
        { name: "a:\n", why: "its uri has control characters" },
        { name: "a:2", why: "its name is no text" },
        { name: undefined, why: "the entry is no object" },
      ],
    });
  });
});

describe("reading a resource", () => {
  it("gives its texts and blobs, also none, and sends the address as it was listed", async () => {
    const contents = [{ uri: "a", text: "" }, { uri: "b", mimeType: "image/png", blob: "AA==", _meta: {} }];
    const client = fakeRequester(() => ({ contents }), { capabilities });
    expect(await readResource(client, "file:///a b%20.txt")).toEqual(contents);
    expect(client.sent).toEqual([["resources/read", { uri: "file:///a b%20.txt" }]]);
    expect(await readResource(fakeRequester(() => ({ contents: [] }), { capabilities }), "a")).toEqual([]);
  });

  it.each([
    ["-32002", remote(-32002, { uri: "a" }), true],
    ["-32002 without data", remote(-32002), true],
    ["-32602 with the address", remote(-32602, { uri: "a" }), true],
    ["-32602 without it", remote(-32602), false],
    [
      "-32602 in the words of the official package",
      new RemoteError(-32602, "MCP error -32602: Resource a:b not found"),
      true,
    ],
    ["-32602 about something else", new RemoteError(-32602, "Resource template not found in the cache"), false],
    ["other words", new RemoteError(-32603, "Resource a:b not found"), false],
    ["another error", remote(-32603, { uri: "a" }), false],
  ])("%s says whether it is not there (C-RSRC-01)", async (_code, error, isNotFound) => {
    const reading = readResource(fakeRequester(() => error, { capabilities }), "a");
    expect(isResourceNotFound(await reading.catch((thrown: unknown) => thrown))).toBe(isNotFound);
  });

  it.each([
    [{}],
    [{ contents: {} }],
    [{ contents: [{ uri: "a" }] }],
    [{ contents: [{ text: "a" }] }],
    [{ contents: [{ uri: "a", text: "a", blob: "" }] }],
  ])("refuses the answer %j", async (result) => {
    const reading = readResource(fakeRequester(() => result, { capabilities }), "a");
    await expect(reading).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
  });

  it("refuses a round of input that nobody answers", async () => {
    const reply = {
      kind: "input_required",
      inputRequests: {},
      requestState: undefined,
      bytes: 1,
      resends: 0,
    } as const;
    const reading = readResource(fakeRequester(() => ({ reply }), { capabilities }), "a");
    await expect(reading).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
  });

  it("asks nothing of a server that declares no resources (C-LIFE-06)", async () => {
    const client = fakeRequester(() => ({ contents: [] }));
    await expect(readResource(client, "a")).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
    expect(client.sent).toEqual([]);
  });
});

describe("changes of a resource", () => {
  it("are asked for and given up by the address", async () => {
    const client = fakeRequester(() => ({}), { capabilities });
    await subscribeResource(client, "a");
    await unsubscribeResource(client, "a");
    expect(client.sent).toEqual([["resources/subscribe", { uri: "a" }], ["resources/unsubscribe", { uri: "a" }]]);
    expect(updatedResource("notifications/resources/updated", { uri: "a/b" })).toBe("a/b");
    expect(updatedResource("notifications/resources/updated", { uri: 1 })).toBeUndefined();
    expect(updatedResource("notifications/message", { uri: "a" })).toBeUndefined();
  });

  it("are not asked for where the server does not offer it, or has another way (C-LIFE-06)", async () => {
    for (const options of [{ capabilities: { resources: {} } }, { capabilities, subscribes: true }]) {
      const client = fakeRequester(() => ({}), options);
      await expect(subscribeResource(client, "a")).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
      expect(client.sent).toEqual([]);
    }
  });
});
