import { describe, expect, it } from "vitest";
import { answerAsk, answerInputs, type AskHandlers, capabilitiesOf, type FormAsk } from "../../../src/client/asks.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";

const context = { signal: new AbortController().signal };
const message = "Who are you?";

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then((value) => expect.fail(`did not reject: ${JSON.stringify(value)}`), (error: unknown) => error);

const schemaOf = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});
const form = (properties: JsonObject, required?: string[]): JsonObject => ({
  message,
  requestedSchema: schemaOf(properties, required),
});
const accepts = (content?: JsonObject): AskHandlers => ({
  form: () => ({ action: "accept", ...(content === undefined ? {} : { content }) }),
});

describe("capabilities of handlers", () => {
  const rows: [handlers: AskHandlers, declared: object][] = [
    [{}, {}],
    [{ form: () => ({ action: "cancel" }) }, { elicitation: { form: {} } }],
    [{ url: () => ({ action: "cancel" }) }, { elicitation: { url: {} } }],
    [{ sample: () => undefined }, { sampling: {} }],
    [{ sample: () => undefined, sampleTools: true }, { sampling: { tools: {} } }],
    [{ roots: () => [] }, { roots: {} }],
  ];
  it.each(rows)("%o declare %o (C-ELIC-01, C-SAMP-01, C-ROOT-01)", (handlers, declared) => {
    expect(capabilitiesOf(handlers)).toEqual(declared);
  });
});

describe("form", () => {
  const all = {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive"], default: "active" },
    verified: { type: "boolean", default: true },
    tags: { type: "array", items: { anyOf: [{ const: "a", title: "A" }, { const: "b", title: "B" }] }, default: ["a"] },
  };

  it("gets the defaults of untouched fields, and no others (C-ELIC-12)", async () => {
    expect(await answerAsk(accepts({ age: 31 }), "elicitation/create", form(all), context)).toEqual({
      action: "accept",
      content: { name: "John Doe", age: 31, score: 95.5, status: "active", verified: true, tags: ["a"] },
    });
    expect(await answerAsk(accepts(), "elicitation/create", form({ note: { type: "string" } }), context)).toEqual({
      action: "accept",
      content: {},
    });
  });

  it("without a mode is a form, and its handler sees message and schema (C-ELIC-02)", async () => {
    const seen: FormAsk[] = [];
    const handlers: AskHandlers = { form: (ask) => (seen.push(ask), { action: "decline" }) };
    expect(await answerAsk(handlers, "elicitation/create", form(all), context)).toEqual({ action: "decline" });
    expect(seen).toEqual([{ message, schema: schemaOf(all) }]);
  });

  const bad: [name: string, field: object, value: unknown, wanted: string][] = [
    ["a text where a number is wanted", { type: "number" }, "1", "a number"],
    ["a fraction where a whole number is wanted", { type: "integer" }, 1.5, "a whole number"],
    ["a number below its minimum", { type: "number", minimum: 2 }, 1, "at least 2"],
    ["a number above its maximum", { type: "integer", maximum: 2 }, 3, "at most 2"],
    ["a text that is too short", { type: "string", minLength: 2 }, "😀", "at least 2 characters"],
    ["a text that is too long", { type: "string", maxLength: 1 }, "ab", "at most 1 characters"],
    ["a text that is no choice", { type: "string", enum: ["a"] }, "b", "one of the choices"],
    [
      "a text that is no titled choice",
      { type: "string", oneOf: [{ const: "a", title: "A" }] },
      "A",
      "one of the choices",
    ],
    [
      "a list with a stranger",
      { type: "array", items: { type: "string", enum: ["a"] } },
      ["a", "b"],
      "a list of the choices",
    ],
    ["too many choices", { type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a", "b"], "at most 1 choices"],
    ["a flag as a text", { type: "boolean" }, "true", "true or false"],
  ];
  it.each(bad)("refuses %s before it is sent (C-ELIC-11)", async (_, field, value, wanted) => {
    const error = await rejection(answerAsk(accepts({ x: value }), "elicitation/create", form({ x: field }), context));
    expect(error).toMatchObject({ code: "ERR_INVALID_ARGUMENTS", facts: { field: "x" } });
    expect((error as Error).message).toContain(wanted);
  });

  it.each(bad)("leaves a field out whose default is %s (C-ELIC-12)", async (_, field, value) => {
    const withDefault = form({ x: { ...field, default: value } });
    expect(await answerAsk(accepts({}), "elicitation/create", withDefault, context)).toEqual({
      action: "accept",
      content: {},
    });
    const needed = form({ x: { ...field, default: value } }, ["x"]);
    expect(await rejection(answerAsk(accepts({}), "elicitation/create", needed, context))).toMatchObject({
      message: expect.stringContaining("no answer"),
    });
  });

  it("refuses a missing answer and one too many", async () => {
    const needs = form({ x: { type: "string" } }, ["x"]);
    expect(await rejection(answerAsk(accepts({}), "elicitation/create", needs, context))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
    });
    expect(await rejection(answerAsk(accepts({ x: "a", y: 1 }), "elicitation/create", needs, context))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
      facts: { field: "y" },
    });
  });

  const unusable: [name: string, params: object][] = [
    ["without a message", { requestedSchema: schemaOf({}) }],
    ["without a schema", { message }],
    ["with nested fields", form({ x: { type: "object", properties: {} } })],
    ["with a list of numbers", form({ x: { type: "array", items: { type: "number" } } })],
    [
      "with a field too many",
      form(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, { type: "string" }]))),
    ],
    ["of an unknown mode", { mode: "video", message }],
    ["of an undeclared mode (C-ELIC-13)", { mode: "url", message, url: "https://a.test/" }],
  ];
  it.each(unusable)("%s is refused as invalid parameters and shown to nobody", async (_, params) => {
    const handlers: AskHandlers = { form: () => expect.fail("was asked") };
    expect(await rejection(answerAsk(handlers, "elicitation/create", params, context))).toMatchObject({ code: -32602 });
  });
});

describe("address", () => {
  it("is shown whole, and accepting it is all that goes back (C-ELIC-06, C-ELIC-07, C-ELIC-08)", async () => {
    const seen: unknown[] = [];
    const handlers: AskHandlers = { url: (ask) => (seen.push(ask), { action: "accept" }) };
    const params = { mode: "url", message, url: "https://login.test/a?b=c#d", elicitationId: "e1" };
    expect(await answerAsk(handlers, "elicitation/create", params, context)).toEqual({ action: "accept" });
    expect(seen).toEqual([{
      message,
      url: "https://login.test/a?b=c#d",
      host: "login.test",
      doubts: [],
      elicitationId: "e1",
    }]);
  });

  it.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "not an address",
    "",
    7,
    `https://${"a".repeat(9000)}`,
  ])(
    "%s is refused and shown to nobody",
    async (url) => {
      const handlers: AskHandlers = { url: () => expect.fail("was asked") };
      const error = await rejection(answerAsk(handlers, "elicitation/create", { mode: "url", message, url }, context));
      expect(error).toMatchObject({ code: -32602 });
    },
  );
});

describe("sampling", () => {
  const user = { role: "user", content: { type: "text", text: "Capital of France?" } };
  const answer = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" };
  const use = { role: "assistant", content: [{ type: "tool_use", id: "u1", name: "t", input: {} }] };
  const result = { type: "tool_result", toolUseId: "u1", content: [] };
  const handlers: AskHandlers = { sample: () => answer, sampleTools: true };

  it("passes parameters and result on as they are", async () => {
    const seen: unknown[] = [];
    const params = { messages: [user], maxTokens: 100, modelPreferences: { hints: [{ name: "m" }] } };
    const sampler: AskHandlers = { sample: (given) => (seen.push(given), answer) };
    expect(await answerAsk(sampler, "sampling/createMessage", params, context)).toBe(answer);
    expect(seen).toEqual([params]);
  });

  it("refused by a person is answered with -1 (C-SAMP-04)", async () => {
    const refuses: AskHandlers = { sample: () => undefined };
    const error = await rejection(
      answerAsk(refuses, "sampling/createMessage", { messages: [user], maxTokens: 1 }, context),
    );
    expect(error).toMatchObject({ code: -1 });
  });

  const bad: [name: string, params: object][] = [
    ["without messages", { maxTokens: 1 }],
    ["without maxTokens (C-SAMP-03)", { messages: [user] }],
    ["with a use that is never answered (C-SAMP-05)", { messages: [user, use, user], maxTokens: 1 }],
    ["with results mixed with text (C-SAMP-06)", {
      messages: [user, use, { role: "user", content: [result, { type: "text", text: "x" }] }],
      maxTokens: 1,
    }],
    ["with a result for no use", { messages: [{ role: "user", content: [result] }], maxTokens: 1 }],
  ];
  it.each(bad)("%s is refused as invalid parameters", async (_, params) => {
    expect(await rejection(answerAsk(handlers, "sampling/createMessage", params, context))).toMatchObject({
      code: -32602,
    });
  });

  it("with uses and their results is passed on; with tools only where they were declared", async () => {
    const params = { messages: [user, use, { role: "user", content: [result] }], maxTokens: 1, tools: [] };
    expect(await answerAsk(handlers, "sampling/createMessage", params, context)).toBe(answer);
    const error = await rejection(answerAsk({ sample: () => answer }, "sampling/createMessage", params, context));
    expect(error).toMatchObject({ code: -32602 });
  });
});

describe("what has no handler", () => {
  it.each(["elicitation/create", "sampling/createMessage", "roots/list", "tools/call", "__proto__"])(
    "%s is an unknown method (C-ROOT-03)",
    async (method) => {
      expect(await rejection(answerAsk({}, method, {}, context))).toMatchObject({ code: -32601 });
    },
  );

  it("roots are file addresses only (C-ROOT-01)", async () => {
    const roots = [{ uri: "file:///home/me/notes", name: "notes" }];
    expect(await answerAsk({ roots: () => roots }, "roots/list", undefined, context)).toEqual({ roots });
    const stray: AskHandlers = { roots: () => [{ uri: "https://a.test" }] };
    expect(await rejection(answerAsk(stray, "roots/list", {}, context))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
    });
  });
});

describe("inputs of a round", () => {
  const confirm = { method: "elicitation/create", params: form({ ok: { type: "boolean", default: true } }) };

  it("are all answered, each under its key (C-MRTR-01)", async () => {
    const handlers: AskHandlers = { ...accepts(), roots: () => [] };
    expect(await answerInputs(handlers, { a: confirm, b: { method: "roots/list" } }, context)).toEqual({
      a: { action: "accept", content: { ok: true } },
      b: { roots: [] },
    });
  });

  it("keep a key that names a prototype", async () => {
    const inputs = JSON.parse(`{"__proto__":${JSON.stringify(confirm)}}`) as JsonObject;
    expect(Object.keys(await answerInputs(accepts(), inputs, context))).toEqual(["__proto__"]);
  });

  const bad: [name: string, entry: unknown][] = [
    ["an unknown method", { method: "tools/call", params: {} }],
    ["an undeclared kind", { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } }],
    ["an unusable form", { method: "elicitation/create", params: { message } }],
    ["no method", {}],
    ["no object", 7],
  ];
  it.each(bad)("with %s end the request, and nobody is asked, not even the rest (C-MRTR-10)", async (_, entry) => {
    const handlers: AskHandlers = { form: () => expect.fail("was asked") };
    expect(await rejection(answerInputs(handlers, { a: confirm, b: entry }, context))).toMatchObject({
      code: "ERR_PROTOCOL",
    });
  });

  it("of an endless number are refused", async () => {
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, confirm]));
    expect(await rejection(answerInputs(accepts(), many, context))).toMatchObject({ code: "ERR_PROTOCOL" });
  });

  it("whose refusal has no form of its own end the request as denied", async () => {
    const inputs = { a: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } } };
    expect(await rejection(answerInputs({ sample: () => undefined }, inputs, context))).toMatchObject({
      code: "ERR_DENIED",
    });
  });
});
