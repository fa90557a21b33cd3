import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../src/call/outcome.ts";
import type { JsonObject, Tool } from "../../../src/protocol/model.ts";
import { done } from "../../fixtures/fake_client.ts";
import { until } from "../../fixtures/settle.ts";
import { type CallScene, callScene, unbalanced } from "./call_setup.ts";

const SECRET = "hunter2hunter2";

/** A session over a server "typed" with one tool "run" of these schemas. */
async function typedScene(schemas: Partial<Tool>): Promise<CallScene> {
  const scene = await callScene();
  scene.connect.onConnect = (dialling) => {
    dialling.succeed().tools = [{ name: "run", inputSchema: { type: "object" }, ...schemas }];
  };
  await scene.manager.add({ name: "typed", command: "typed" });
  return scene;
}

async function resultOf(outputSchema: JsonObject, result: JsonObject): Promise<{ outcome: Outcome; scene: CallScene }> {
  const scene = await typedScene({ outputSchema });
  const running = scene.executor.call("mcp.typed.run", {});
  const call = await until(() => scene.connect.last.calls[0]);
  call.answer(done(result));
  return { outcome: await running, scene };
}

describe("arguments of a call", () => {
  const inputSchema = {
    type: "object",
    properties: { path: { type: "string" }, depth: { type: "integer", minimum: 1 } },
    required: ["path"],
    additionalProperties: false,
  };

  it("arguments that do not fit the schema fail before anybody is asked and before anything is sent", async () => {
    const scene = await typedScene({ inputSchema });
    const outcome = await scene.executor.call("mcp__typed__run", { depth: "deep", [SECRET]: SECRET });
    expect(outcome).toMatchObject({
      status: "failed",
      isError: true,
      error: {
        code: "ERR_INVALID_ARGUMENTS",
        reason: "invalid_arguments",
        message: 'Cannot use the arguments of mcp.typed.run: lacks "path"; ' +
          "/depth is a string, wanted an integer; /[redacted] is not allowed here",
      },
    });
    expect(scene.connect.last.calls).toEqual([]);
    expect(scene.sink.batches).toEqual([["tool.failed"]]);
    expect(scene.sink.events[0]!.payload).toMatchObject({ reason: "invalid_arguments", outcome: "not_sent" });
    expect(JSON.stringify([outcome, scene.sink.events])).not.toContain(SECRET);
  });

  it("arguments that fit are sent as they are", async () => {
    const scene = await typedScene({ inputSchema });
    const running = scene.executor.call("mcp__typed__run", '{"path":"/","depth":2}');
    const call = await until(() => scene.connect.last.calls[0]);
    expect(call.args).toEqual({ path: "/", depth: 2 });
    call.answer(done({ content: [] }));
    expect((await running).status).toBe("completed");
  });

  it("arguments that take too much work to check are not sent", async () => {
    const scene = await typedScene({
      inputSchema: {
        $defs: { n: { properties: { a: { allOf: [{ $ref: "#/$defs/n" }, { $ref: "#/$defs/n" }] } } } },
        $ref: "#/$defs/n",
      },
    });
    let args: object = {};
    for (let at = 0; at < 60; at++) args = { a: args };
    expect((await scene.executor.call("mcp.typed.run", args)).error?.message).toContain(
      "takes more than 1000000 steps",
    );
    expect(scene.connect.last.calls).toEqual([]);
  });
});

describe("structured content of a result (FR-53, A-38, C-TOOL-03)", () => {
  const outputSchema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };
  const content = [{ type: "text", text: "three" }];

  it.each<[string, JsonObject, object]>([
    ["does not fit", { structuredContent: { count: "three" } }, {
      rule: "structured_content_invalid",
      count: 1,
      preview: "/count is a string, wanted an integer",
    }],
    ["is of another type", { structuredContent: [] }, {
      rule: "structured_content_invalid",
      count: 1,
      preview: "is an array, wanted an object",
    }],
    ["is null", { structuredContent: null }, {
      rule: "structured_content_invalid",
      preview: "is null, wanted an object",
    }],
    ["is missing", {}, { rule: "structured_content_missing", count: 1, preview: "is missing" }],
  ])("content that %s is flagged, and the answer kept", async (_, result, finding) => {
    const { outcome, scene } = await resultOf(outputSchema, { content, ...result });
    expect(outcome).toMatchObject({ status: "completed", isError: false, output: "three", content, ...result });
    expect(outcome.findings).toEqual([{ where: "structuredContent", severity: "low", count: 1, ...finding }]);
    expect(scene.sink.batches.at(-1)).toEqual(["mcp.call.completed", "security.finding", "tool.completed"]);
    expect(scene.sink.ofType("security.finding")[0]!.payload).toEqual({
      ...outcome.findings[0],
      where: "structuredContent of mcp.typed.run",
    });
    expect(scene.sink.ofType("tool.completed")[0]!.payload["findings"]).toBe(1);
    expect(unbalanced(scene.sink)).toEqual([]);
    expect(scene.hostSink.types).not.toContain("mcp.server.crashed");
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["fits", outputSchema, { content, structuredContent: { count: 3, more: true } }],
    ["fits, alone", outputSchema, { structuredContent: { count: 3 } }],
    ["is that of a failure", outputSchema, { content, isError: true }],
    ["is that of a failure, wrong as it is", outputSchema, { content, isError: true, structuredContent: {} }],
    ["is no object where none is wanted", { type: "array" }, { content, structuredContent: [1] }],
    ["is held against a schema that cannot be used", { $ref: "other.json" }, { content, structuredContent: 7 }],
    ["is missing where the schema cannot be used", { $ref: "other.json" }, { content }],
  ])("content that %s is not flagged", async (_, schema, result) => {
    const { outcome, scene } = await resultOf(schema, result);
    expect([outcome.status, outcome.findings]).toEqual(["completed", []]);
    expect(scene.sink.types).not.toContain("security.finding");
  });

  it("content is judged as it came, and shown without secrets", async () => {
    const { outcome, scene } = await resultOf(
      { additionalProperties: { enum: [SECRET] }, propertyNames: { maxLength: 8 } },
      { content, structuredContent: { key: SECRET } },
    );
    expect(outcome.findings).toEqual([]);
    const wrong = await resultOf(outputSchema, { content, structuredContent: { count: SECRET, [SECRET]: 1 } });
    expect(wrong.outcome.findings).toHaveLength(1);
    expect(JSON.stringify([outcome, scene.sink.events, wrong.outcome, wrong.scene.sink.events])).not.toContain(SECRET);
  });
});

describe("schemas of a server", () => {
  it("tool whose input schema cannot be used is rejected, and what is not checked is told once a tool", async () => {
    const scene = await typedScene({
      inputSchema: { properties: { a: { pattern: "(a+)+$" } } },
      outputSchema: { $ref: "https://x.test/schema" },
    });
    expect(scene.hostSink.ofType("security.finding").map(({ payload }) => payload)).toEqual([
      {
        rule: "schema_partly_checked",
        where: "mcp.typed.run",
        severity: "low",
        count: 1,
        preview: "inputSchema/properties/a/pattern",
      },
      {
        rule: "output_schema_unusable",
        where: "mcp.typed.run",
        severity: "low",
        count: 1,
        preview: 'outputSchema refers to "https://x.test/schema", which is not in it',
      },
    ]);
    const refused = await typedScene({ inputSchema: { $ref: "file:///etc/passwd" } });
    expect(refused.hostSink.ofType("mcp.tool.rejected").map(({ payload }) => payload)).toEqual([
      { server: "typed", tool: "run", why: 'inputSchema refers to "file:///etc/passwd", which is not in it' },
    ]);
    expect((await refused.executor.call("mcp.typed.run", {})).error?.reason).toBe("not_found");
  });
});
