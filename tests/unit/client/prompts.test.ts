import { describe, expect, it } from "vitest";
import { getPrompt, listPrompts, promptArguments } from "../../../src/client/prompts.ts";
import { fakeRequester } from "./fake_requester.ts";

const capabilities = { prompts: {} };
const prompt = { name: "review", arguments: [{ name: "repo", required: true }, { name: "depth" }] };
const message = (role: unknown, content: unknown): object => ({ messages: [{ role, content }] });
const text = { type: "text", text: "hi" };

describe("list of prompts", () => {
  it("is all pages, and nothing is asked where the server declares none (C-PRM-01)", async () => {
    const client = fakeRequester(
      (_method, { cursor }) =>
        cursor === undefined ? { prompts: [prompt], nextCursor: "2" } : { prompts: [{ name: "b" }] },
      { capabilities },
    );
    expect((await listPrompts(client)).items).toEqual([prompt, { name: "b" }]);
    const none = fakeRequester(() => ({}));
    expect(await listPrompts(none)).toEqual({ items: [], malformed: [] });
    expect(none.sent).toEqual([]);
  });

  it("leaves out a prompt whose arguments are no list of names", async () => {
    const client = fakeRequester(
      () => ({ prompts: [{ name: "a", arguments: [{}] }, { name: "b", arguments: null }] }),
      {
        capabilities,
      },
    );
    expect(await listPrompts(client)).toMatchObject({ items: [{ name: "b" }], malformed: [{ name: "a" }] });
  });
});

describe("arguments of a prompt", () => {
  it.each([
    [{ repo: "" }, { repo: "" }],
    [{ repo: 5, depth: true }, { repo: "5", depth: "true" }],
    [{ repo: "a", depth: undefined }, { repo: "a" }],
  ])("%j are sent as texts (C-PRM-02 FR-59)", (given, sent) => {
    expect(promptArguments(prompt, given)).toEqual(sent);
  });

  it.each([
    [{}, `"repo" is missing`],
    [{ depth: "1" }, `"repo" is missing`],
    [{ repo: "a", extra: "1" }, `it has no argument "extra"`],
    [{ repo: "a", dept: "1" }, `it has no argument "dept", did you mean "depth"`],
    [{ repo: null }, `"repo" is null, wanted a text`],
    [{ repo: ["a"] }, `"repo" is a object, wanted a text`],
  ])("%j are refused before anything is sent (C-PRM-02 FR-59)", async (given, why) => {
    const client = fakeRequester(() => message("user", text) as never, { capabilities });
    const message_ = `Cannot fill in prompt "review": ${why}`;
    await expect(getPrompt(client, prompt, given)).rejects.toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
      message: message_,
    });
    expect(client.sent).toEqual([]);
  });

  it("are an empty object for a prompt that takes none or only optional ones (FR-59)", () => {
    expect(promptArguments({ name: "a" }, {})).toEqual({});
    expect(promptArguments({ name: "a", arguments: [{ name: "b" }] }, {})).toEqual({});
    expect(() => promptArguments({ name: "a" }, { b: "1" })).toThrow(`it has no argument "b"`);
  });
});

describe("filled prompt", () => {
  it("holds what a user and an assistant say", async () => {
    const messages = [{ role: "user", content: text }, { role: "assistant", content: { type: "hologram", x: 1 } }];
    const client = fakeRequester(() => ({ description: "d", messages }), { capabilities });
    expect(await getPrompt(client, prompt, { repo: "a" })).toEqual({ description: "d", messages });
    expect(client.sent).toEqual([["prompts/get", { name: "review", arguments: { repo: "a" } }]]);
  });

  it.each([
    [message("system", text), `found a message of role "system"`],
    [message(undefined, text), "found a message of no role"],
    [message("user", "hi"), "whose content is no content block"],
    [message("user", {}), "whose content is no content block"],
    [{ messages: {} }, "found no list of messages"],
  ])("%j is refused (C-PRM-02 A-73)", async (result, why) => {
    const getting = getPrompt(fakeRequester(() => result as never, { capabilities }), prompt, { repo: "a" });
    await expect(getting).rejects.toMatchObject({
      code: "ERR_PROTOCOL",
      message: expect.stringContaining(why) as string,
    });
  });

  it("is not asked for where the server declares no prompts (C-LIFE-06)", async () => {
    const client = fakeRequester(() => ({ messages: [] }));
    await expect(getPrompt(client, prompt, { repo: "a" })).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
    expect(client.sent).toEqual([]);
  });
});
