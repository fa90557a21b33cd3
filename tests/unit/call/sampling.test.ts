import { describe, expect, it } from "vitest";
import type { HostAskContext, HostAsks } from "../../../src/call/host_asks.ts";
import { checkSample, MAX_TOOL_TURNS, toolTurnsOf } from "../../../src/call/samples.ts";
import type { AskAnswerer } from "../../../src/jsonrpc/peer_asks.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { done, text } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { rejection } from "../servers/supervisor_setup.ts";
import { type CallScene, callScene } from "./call_setup.ts";

const SECRET = "hunter2hunter2";
const METHOD = "sampling/createMessage";
const never = new AbortController().signal;
const said = (role: string, value: string): JsonObject => ({ role, content: { type: "text", text: value } });
const sample = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m", stopReason: "endTurn" };
const question = {
  messages: [said("user", "Capital of France?")],
  systemPrompt: "Be short.",
  maxTokens: 100,
  temperature: 0.2,
  modelPreferences: { hints: [{ name: "m" }] },
};
/** A history in which a model has used tools this often. */
const history = (turns: number): JsonObject[] => [
  said("user", "Weather?"),
  ...Array.from({ length: turns }, (_, at) => [
    { role: "assistant", content: [{ type: "tool_use", id: `u${at}`, name: "t", input: {} }] },
    { role: "user", content: [{ type: "tool_result", toolUseId: `u${at}`, content: [] }] },
  ]).flat(),
];

/** A call during which its server asks. */
async function asking(asks: HostAsks) {
  const scene = await callScene({ asks });
  void scene.executor.call("mcp__echo__echo", {});
  const call = await until(() => scene.connect.last.calls[0]);
  return { scene, call, ask: call.options.asks as AskAnswerer };
}

const inputs = (scene: CallScene): Record<string, unknown>[] =>
  scene.sink.events.filter(({ type }) => type.startsWith("mcp.input.")).map(({ payload }) => payload);

describe("sampling", () => {
  it("shows a person all that a model would get, and sends what the person makes of the answer, not before (C-SAMP-02)", async () => {
    const seen: [JsonObject, HostAskContext][] = [];
    let answer: (value: JsonObject) => void = () => {};
    const { ask } = await asking({
      sample: (params, context) => {
        seen.push([params, context]);
        return new Promise((resolve) => answer = resolve);
      },
    });
    let sent: JsonObject | undefined;
    void ask(METHOD, question, never).then((result) => sent = result);
    await until(() => seen.length === 1);
    await settle();
    expect(sent).toBeUndefined();
    expect(seen[0]![0]).toEqual(question);
    expect(seen[0]![1]).toMatchObject({ server: "echo", tool: "mcp.echo.echo" });
    const edited = { ...sample, content: { type: "text", text: "Lyon, says the editor" } };
    answer(edited);
    await until(() => sent !== undefined);
    expect(sent).toEqual(edited);
  });

  it("can be refused by a person, and the log says so (C-SAMP-02, C-SAMP-04)", async () => {
    const { scene, ask } = await asking({ sample: () => undefined });
    expect(await rejection(ask(METHOD, question, never))).toMatchObject({ code: -1 });
    expect(inputs(scene).at(-1)).toMatchObject({ kind: "sampling", action: "decline" });
  });

  it.each<[missing: string, result: JsonObject]>([
    ["role", { ...sample, role: "system" }],
    ["content", { ...sample, content: "Paris" }],
    ["content", { ...sample, content: null }],
    ["model", { role: "assistant", content: sample.content }],
  ])("sends no result without a usable %s (C-SAMP-02): %#", async (missing, result) => {
    const { scene, ask } = await asking({ sample: () => result });
    expect(await rejection(ask(METHOD, question, never))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
      message: expect.stringContaining(missing) as string,
    });
    expect(inputs(scene).at(-1)).toMatchObject({ action: "failed" });
  });

  it("shows nobody a secret of the host, and lets none leave (C-SAMP-07)", async () => {
    const seen: unknown[] = [];
    const { scene, ask } = await asking({
      sample: (params) => {
        seen.push(params);
        return { ...sample, content: { type: "text", text: `It is ${SECRET}` } };
      },
    });
    const params = { ...question, systemPrompt: `Key ${SECRET}`, messages: [said("user", `Is it ${SECRET}?`)] };
    expect(await rejection(ask(METHOD, params, never))).toMatchObject({ code: -1 });
    expect(seen).toHaveLength(1);
    expect(JSON.stringify([seen, scene.sink.events])).not.toContain(SECRET);
    expect(inputs(scene).at(-1)).toMatchObject({ action: "decline", reason: "secret_in_answer" });
  });

  it("of a loop of tools without end is refused without asking, and the log says why (C-SAMP-08)", async () => {
    let asked = 0;
    const { scene, ask } = await asking({ sample: () => (asked++, sample), sampleTools: true });
    const loop = (turns: number): Promise<JsonObject> =>
      ask(METHOD, { messages: history(turns), maxTokens: 1, tools: [] }, never);
    expect(await loop(MAX_TOOL_TURNS)).toEqual(sample);
    expect(await rejection(loop(MAX_TOOL_TURNS + 1))).toMatchObject({ code: -1 });
    expect(asked).toBe(1);
    expect(inputs(scene).at(-1)).toMatchObject({ action: "decline", reason: "too_many_tool_turns" });
  });

  it("of a loop without end ends its call where it comes in a result (C-SAMP-08)", async () => {
    const scene = await callScene({ asks: { sample: () => expect.fail("was asked"), sampleTools: true } });
    const outcome = scene.executor.call("mcp__echo__echo", {});
    const call = await until(() => scene.connect.last.calls[0]);
    const params = { messages: history(MAX_TOOL_TURNS + 1), maxTokens: 1 };
    const inputRequests = { s: { method: METHOD, params } };
    call.answer({ kind: "input_required", inputRequests, requestState: undefined, bytes: 1, resends: 0 });
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "permission_denied" } });
  });

  it("keeps no messages from one ask to the next, nor from one round to the next (C-SAMP-09)", async () => {
    const seen: JsonObject[] = [];
    const { scene, call, ask } = await asking({ sample: (params) => (seen.push(params), sample) });
    const other = { messages: [said("user", "Of Spain?")], maxTokens: 5 };
    await ask(METHOD, question, never);
    await ask(METHOD, other, never);
    expect(seen).toEqual([question, other]);
    const asksFor = (params: JsonObject): Parameters<typeof call.answer>[0] => ({
      kind: "input_required",
      inputRequests: { s: { method: METHOD, params } },
      requestState: undefined,
      bytes: 1,
      resends: 0,
    });
    call.answer(asksFor(question));
    const second = await until(() => scene.connect.last.calls[1]);
    second.answer(asksFor(other));
    const third = await until(() => scene.connect.last.calls[2]);
    expect(seen.slice(2)).toEqual([question, other]);
    for (const { params } of [second, third]) {
      expect(params).toEqual({ name: "echo", arguments: {}, inputResponses: { s: sample } });
    }
    third.answer(done(text("")));
  });
});

describe("reading of samples", () => {
  it.each<[turns: number, messages: unknown]>([
    [0, undefined],
    [0, "x"],
    [0, [null, 7, {}, { content: null }, said("user", "x")]],
    [1, [{ role: "assistant", content: { type: "tool_use", id: "a" } }]],
    [3, history(3)],
  ])("counts %d uses of tools", (turns, messages) => {
    expect(toolTurnsOf({ messages })).toBe(turns);
  });

  it("takes a block, and a list of them", () => {
    checkSample(sample);
    checkSample({ ...sample, content: [sample.content] });
  });
});
