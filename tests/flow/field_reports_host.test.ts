import { describe, expect, test } from "vitest";
import { FakeClock } from "../fixtures/fake_clock.ts";
import { type Heard, type HostilePipes, type HostileProgram, MODERN, text } from "../fixtures/hostile_program.ts";
import { until } from "../fixtures/settle.ts";
import { attackedBy, run, type Scene, surviveAll, warnings } from "./attacks.ts";

surviveAll();

type Json = Readonly<Record<string, unknown>>;

const onCall = (answer: (heard: Heard, pipes: HostilePipes) => unknown, more: HostileProgram = {}): HostileProgram => ({
  ...more,
  hear: (heard, pipes) => heard.method === "tools/call" ? answer(heard, pipes) : undefined,
});

describe("FR-11 budget of a start", () => {
  /** Answers its handshake after some time by the clock, a different one at each start. */
  const slow = (clock: FakeClock, ...waitsMs: readonly number[]): HostileProgram => {
    let starts = 0;
    return {
      hear({ id, method }, pipes) {
        // An older server that knows no other first contact, and takes its time for the one it knows.
        if (method !== "initialize") return undefined;
        const waitMs = waitsMs[Math.min(starts++, waitsMs.length - 1)]!;
        const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} } };
        for (let at = 1; at <= 3; at++) {
          clock.after(waitMs * at / 4, () => pipes.complain(`downloading ${25 * at} %\n`));
        }
        clock.after(waitMs, () => void pipes.say({ id, result }));
        return null;
      },
    };
  };
  const state = ({ host }: Scene): string => host.globalMcpStatus()[0]!.state;

  test("FR-11 is a setting of its own, apart from that of requests: just within it the server is ready", async () => {
    const clock = new FakeClock();
    const scene = await attackedBy(slow(clock, 19_900), { clock }, { startTimeoutMs: 20_000, timeoutMs: 1000 });
    await clock.advance(19_800);
    expect(state(scene)).toBe("starting");
    await clock.advance(300);
    expect(state(scene)).toBe("ready");
    expect(await scene.events("mcp.server.starting")).toMatchObject([{ payload: { server: "hostile" } }, {}]);
  });

  test("FR-11 that is passed is a slow start and no exit: with the time waited, the last words and another try", async () => {
    const clock = new FakeClock();
    const scene = await attackedBy(slow(clock, 20_100, 5000), { clock }, { startTimeoutMs: 20_000 });
    await clock.advance(20_000);
    const [crash] = await scene.events("mcp.server.crashed");
    expect(crash!.payload).toMatchObject({
      reason: "start_timeout",
      stderrTail: expect.stringContaining("downloading 75 %"),
      error: { code: "ERR_START_TIMEOUT", message: expect.stringContaining("20000 ms") },
    });
    expect(crash!.payload).not.toHaveProperty("exitCode");
    expect(await scene.events("mcp.server.restarting")).toMatchObject([{
      payload: { attempt: 1, delayMs: expect.any(Number) },
    }]);
    await clock.advance(10_000);
    expect(state(scene)).toBe("ready");
  });

  test("FR-11 an exit is told from it, with its code and the three lines on standard error", async () => {
    const clock = new FakeClock();
    const scene = await attackedBy(
      {
        start(pipes) {
          pipes.complain("Traceback\nno module named mcp\nexiting\n");
          pipes.exit(1);
        },
      },
      { clock },
      { restart: { auto: false } },
    );
    await clock.advance(1000);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{
      payload: {
        reason: "start_failed",
        exitCode: 1,
        stderrTail: "Traceback\nno module named mcp\nexiting",
        error: { message: expect.stringContaining("code 1") },
      },
    }]);
    const [failed] = scene.host.globalMcpStatus();
    expect(String(failed!.error)).toMatch(/exited with code 1.*Traceback \| no module named mcp \| exiting/);
  });
});

describe("FR-48 pages of a list", () => {
  const KINDS = [
    ["tools/list", "tools", (at: number) => ({ name: `t${at}`, inputSchema: { type: "object" } })],
    ["resources/list", "resources", (at: number) => ({ uri: `x:${at}`, name: `r${at}` })],
    ["resources/templates/list", "resourceTemplates", (at: number) => ({ uriTemplate: `x:${at}/{a}`, name: `m${at}` })],
    ["prompts/list", "prompts", (at: number) => ({ name: `p${at}` })],
  ] as const;

  /** A server whose every list has one entry a page; `next` gives the cursor behind a page, and how often it was asked. */
  const paged = (
    next: (page: number, cursor: unknown) => Json | Error | null,
  ): HostileProgram & { asked: number[] } => {
    const asked = KINDS.map(() => 0);
    return {
      asked,
      capabilities: { resources: {}, prompts: {} },
      hear({ id, method, params }, pipes) {
        const kind = KINDS.findIndex(([list]) => list === method);
        if (kind < 0) return undefined;
        const [, member, make] = KINDS[kind]!;
        const page = ++asked[kind]!;
        const more = next(page, params["cursor"]);
        if (more === null) return null;
        if (more instanceof Error) {
          void pipes.say({ id, error: { code: -32603, message: more.message } });
          return null;
        }
        return { [member]: [make(page)], ...more };
      },
    };
  };

  async function counts({ session }: Scene): Promise<number[]> {
    return [
      session.toolNames().filter((name) => name.startsWith("mcp__hostile")).length,
      (await session.resources.list()).length,
      (await session.resources.templates()).length,
      (await session.prompts.list()).length,
    ];
  }

  test.each<[string, (page: number, cursor: unknown) => Json, number, string | undefined]>([
    ["of three are all read", (page) => page < 3 ? { nextCursor: `c${page}` } : {}, 3, undefined],
    ["end at a cursor that is null", (page) => ({ nextCursor: page < 2 ? "c" : null }), 2, undefined],
    ["go on behind an empty cursor", (_page, cursor) => cursor === "" ? {} : { nextCursor: "" }, 2, undefined],
    ["end at the same cursor each time", () => ({ nextCursor: "same" }), 2, "repeated_cursor"],
    [
      "end at a cursor that comes again",
      (page) => ({ nextCursor: ["A", "B", "A"][page - 1] ?? "C" }),
      3,
      "repeated_cursor",
    ],
    ["end at the most that are asked for", (page) => ({ nextCursor: `random-${page}` }), 100, "pages"],
  ])("FR-48 %s, in every list, and what was read is kept", async (_claim, next, found, truncated) => {
    const program = paged(next);
    const scene = await attackedBy(program);
    await scene.host.ready();
    expect(await counts(scene)).toEqual([found, found, found, found]);
    expect(program.asked).toEqual([found, found, found, found]);
    const warned = await scene.events("mcp.server.warning");
    expect(warned.map(({ payload }) => payload.kind)).toEqual(warned.map(() => "list_truncated"));
    expect(warned.length > 0).toBe(truncated !== undefined);
    if (truncated !== undefined) expect(warned[0]!.payload.excerpt).toContain(truncated);
  });

  test("FR-48 that do not come in time end the list with a warning, and what was read is kept", async () => {
    const clock = new FakeClock();
    const scene = await attackedBy(
      paged((page) => page < 3 ? { nextCursor: `c${page}` } : null),
      { clock },
      { startTimeoutMs: 20_000 },
    );
    // The budget of the start is over; the other lists have a moment more, and go on by themselves.
    await clock.advance(21_000);
    expect(scene.host.globalMcpStatus()[0]).toMatchObject({ state: "ready", toolCount: 2 });
    expect(await scene.events("mcp.server.warning")).toMatchObject([
      { payload: { kind: "list_truncated", excerpt: "time" } },
    ]);
    const templates = scene.session.resources.templates();
    await clock.advance(120_000);
    expect(scene.host.globalMcpStatus()[0]).toMatchObject({ resourceCount: 2, promptCount: 2 });
    expect(await templates).toHaveLength(2);
  });

  test("FR-48 of which one fails make no list: half a one does not pass for the whole, and the start says why", async () => {
    let isBroken = true;
    const scene = await attackedBy(
      paged((page) => isBroken && page > 1 ? new Error("database is gone") : page % 2 === 1 ? { nextCursor: "c" } : {}),
      {},
      { restart: { auto: false } },
    );
    const [report] = await scene.host.ready({ servers: ["hostile"] });
    expect(report!.state).toBe("permanently_failed");
    const [crash] = await scene.events("mcp.server.crashed");
    expect(crash!.payload.error?.message).toContain("database is gone");
    isBroken = false;
    await scene.host.restartMcpServer("hostile");
    expect((await counts(scene))[0]).toBeGreaterThan(0);
  });

  test("FR-48 of which one fails when the list is asked for anew leave the tools that are known", async () => {
    const clock = new FakeClock();
    let pipe: HostilePipes | undefined;
    const program = paged((page) => page === 2 ? {} : page > 3 ? new Error("no") : { nextCursor: `c${page}` });
    const scene = await attackedBy({ ...program, start: (pipes) => void (pipe = pipes) }, { clock });
    await clock.advance(0);
    expect((await counts(scene))[0]).toBe(2);
    void pipe!.say({ method: "notifications/tools/list_changed" });
    await clock.advance(20_000);
    expect((await counts(scene))[0]).toBe(2);
    expect(await warnings(scene)).toEqual({ list_failed: 1 });
    expect(await scene.events("mcp.catalog.changed")).toEqual([]);
  });
});

describe("FR-49 schemas as servers write them", () => {
  const schemas: readonly unknown[] = [
    {},
    { properties: {} },
    { type: "object" },
    { anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    true,
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { a: {} },
      properties: { a: { $ref: "#/definitions/a" } },
    },
    { $schema: "http://json-schema.org/draft-04/schema#", properties: { n: { minimum: 0, exclusiveMinimum: true } } },
    { properties: { n: { minimum: 0, exclusiveMinimum: true } } },
    { $schema: "https://json-schema.org/draft/2019-09/schema" },
    { $schema: "https://vendor.test/dialect", properties: { a: { vendorType: 7 } } },
    { "x-vendor": { $ref: 7 }, unknownWord: [] },
  ];
  const tools = schemas.map((inputSchema, at) => ({ name: `t${at}`, inputSchema, outputSchema: { properties: {} } }));

  test("FR-49 are all used, and the arguments go out as they were given", async () => {
    for (const version of ["2025-11-25", MODERN]) {
      const scene = await attackedBy({ version, tools });
      await scene.host.ready();
      expect(await scene.events("mcp.tool.rejected")).toEqual([]);
      for (const { name } of tools) {
        const outcome = await scene.session.tool(`mcp.hostile.${name}`, { a: 1, n: 2 });
        expect([name, outcome.status, outcome.output]).toEqual([name, "completed", '{"a":1,"n":2}']);
      }
    }
  });

  test("FR-49 are shown to every model with an object at their root, and otherwise as they came", async () => {
    const scene = await attackedBy({ tools });
    await scene.host.ready();
    const { session } = scene;
    const shown = [
      session.toolDefinitions({ format: "mcp" }).map(({ name, inputSchema }) => [name, inputSchema]),
      session.toolDefinitions({ format: "openai" }).map(({ function: { name, parameters } }) => [name, parameters]),
      session.toolDefinitions({ format: "anthropic" }).map(({ name, input_schema }) => [name, input_schema]),
      Object.entries(session.toolDefinitions({ format: "ai-sdk" })).map((
        [name, { inputSchema }],
      ) => [name, inputSchema.jsonSchema]),
    ].map((entries) => Object.fromEntries(entries) as Record<string, unknown>);
    for (const definitions of shown) {
      for (const [at, schema] of schemas.entries()) {
        const given = schema === true ? {} : schema as Json;
        expect(definitions[`mcp__hostile__t${at}`]).toEqual({ type: "object", ...given });
      }
    }
  });

  test("FR-49 dialects that are not understood are named in the log, once a tool", async () => {
    const scene = await attackedBy({ tools });
    await scene.host.ready();
    const found = (await scene.events("security.finding")).filter(({ payload }) =>
      payload.rule === "schema_dialect_unknown"
    );
    expect(found.map(({ payload }) => payload.where)).toEqual(["mcp.hostile.t7", "mcp.hostile.t9", "mcp.hostile.t10"]);
    expect(found[2]!.payload.preview).toContain("https://vendor.test/dialect");
  });
});

describe("FR-54 content of less common types", () => {
  test("FR-54 is passed on block by block, an unknown one with a text in its place, and no link is followed", async () => {
    const content = [
      { type: "text", text: "first", annotations: null },
      { type: "resource_link", uri: "https://evil.test/a.pdf", name: "a", mimeType: "application/pdf" },
      { type: "audio", data: "AAEC", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "x:b", blob: "AAE=", mimeType: "application/zip" } },
      { type: "resource", resource: { uri: "x:t", text: "inside" } },
      { type: "hologram", shape: { sides: 5 }, data: 7 },
      { type: "image", data: "data:image/png;base64,AAEC", mimeType: "image/png" },
      { type: "text", text: "last" },
    ];
    for (const version of ["2024-11-05", "2025-11-25", MODERN]) {
      const scene = await attackedBy(onCall(() => ({ content }), { version }));
      const outcome = await run(scene);
      expect(outcome).toMatchObject({ status: "completed", isError: false, content });
      const lines = outcome.output.split("\n");
      expect(lines).toHaveLength(content.length);
      expect([lines[0], lines.at(-1)]).toEqual(["first", "last"]);
      expect(lines[1]).toBe("[resource_link https://evil.test/a.pdf application/pdf]");
      expect(lines[2]).toBe("[audio audio/wav 3 bytes]");
      expect(lines[3]).toBe("[resource x:b application/zip 2 bytes]");
      expect(lines[5]).toBe("[hologram]");
      expect(scene.fetched).toEqual([]);
      expect(await scene.events("mcp.resource.requested")).toEqual([]);
    }
  });
});

describe("FR-57 integers beyond 2^53", () => {
  const BIG = "9007199254740993";

  test("FR-57 are exact in structured content, and a text is never written anew", async () => {
    const written = `{ "id" : ${BIG},  "f": 1.0 }`;
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      const content = JSON.stringify([{ type: "text", text: written }]);
      void pipes.say(
        `{"jsonrpc":"2.0","id":${
          String(id)
        },"result":{"content":${content},"structuredContent":{"id":${BIG},"list":[-${BIG},1.5,7]}}}`,
      );
      return null;
    }));
    const outcome = await run(scene);
    expect(outcome.output).toBe(written);
    expect(outcome.content).toEqual([{ type: "text", text: written }]);
    expect(outcome.structuredContent).toEqual({ id: BigInt(BIG), list: [-BigInt(BIG), 1.5, 7] });
    expect(await scene.events("tool.completed")).toMatchObject([{ payload: { resultPreview: written } }]);
  });

  test("FR-57 structured content alone is shown with the digits that came", async () => {
    const scene = await attackedBy(onCall(({ id }, pipes) => {
      void pipes.say(`{"jsonrpc":"2.0","id":${String(id)},"result":{"structuredContent":{"id":${BIG}}}}`);
      return null;
    }));
    expect((await run(scene)).output).toBe(`{"id":${BIG}}`);
  });

  test.each([
    ["in a text of JSON", `{"id":${BIG}}`],
    ["deep in it", `{"a":[{"b":"\\"x","c":-${BIG}}]}`],
    ["as a bigint", { id: BigInt(BIG) }],
  ])(
    "FR-57 arguments that no number is exact enough for go out with their digits, or not at all: %s",
    async (_claim, args) => {
      let sent = "";
      const scene = await attackedBy(onCall(({ id, line }, pipes) => {
        sent = line;
        void pipes.say({ id, result: text("taken") });
        return null;
      }));
      const outcome = await run(scene, args);
      if (!("rawJSON" in JSON)) {
        // Node before 22 has no way to write such a number.
        expect(outcome).toMatchObject({ status: "failed", error: { reason: "invalid_arguments" } });
        return expect(sent).toBe("");
      }
      expect(outcome).toMatchObject({ status: "completed", output: "taken" });
      expect(sent).toMatch(new RegExp(`:-?${BIG}[}]`));
    },
  );

  test.runIf("rawJSON" in JSON)(
    "FR-57 arguments are asked about, validated and given to local tools with their digits",
    async () => {
      const id = BigInt(BIG);
      const asked: unknown[] = [];
      const given: unknown[] = [];
      const inputSchema = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
      const scene = await attackedBy({ tools: [{ name: "run", inputSchema }] }, {
        permission: { rules: [{ decision: "ask" }] },
        approve: async ({ args }) => (asked.push(args), true),
        localTools: [{ name: "mine", risk: "read", inputSchema, run: (args: object) => (given.push(args), "ok") }],
      });
      for (const args of [{ id }, `{"id":${BIG}}`]) {
        expect(await run(scene, args)).toMatchObject({ status: "completed" });
        expect(await scene.session.tool("mine", args)).toMatchObject({ status: "completed" });
      }
      expect(asked.slice(0, 2)).toEqual([{ id }, { id }]);
      expect(given).toEqual([{ id }, { id }]);
      expect(await run(scene, { id: 10n ** 4096n })).toMatchObject({ error: { reason: "invalid_arguments" } });
      expect(await run(scene, { id: 7n })).toMatchObject({ status: "completed", output: '{"id":7}' });
      const shown = (await scene.events("permission.requested")).map(({ payload }) => payload.args);
      expect(shown[0]).toEqual({ id: BIG });
      const other = await run(scene, { id }, { toolCallId: "tc_same" });
      expect(await run(scene, `{"id":${BIG}}`, { toolCallId: "tc_same" })).toEqual(other);
    },
  );

  test("FR-57 arguments that only look like it go out as they are", async () => {
    const scene = await attackedBy({});
    const args = `{"s":"${BIG}","k${BIG}":"\\\\","e":1e30,"f":0.1234567890123456789,"n":9007199254740991}`;
    expect(JSON.parse((await run(scene, args)).output)).toEqual(JSON.parse(args));
  });

  test("FR-57 progress of that size is told, and ids of that size settle nothing", async () => {
    const told: unknown[] = [];
    const scene = await attackedBy(onCall(({ id, params }, pipes) => {
      const token = JSON.stringify((params["_meta"] as { progressToken: unknown }).progressToken);
      const progress = `{"progressToken":${token},"progress":${BIG},"total":1${BIG}}`;
      void pipes.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":${progress}}`);
      void pipes.say(`{"jsonrpc":"2.0","id":${BIG},"result":${JSON.stringify(text("forged"))}}`);
      void pipes.say({ id, result: text("right") });
      return null;
    }));
    const outcome = await run(scene, {}, { onProgress: (progress: unknown) => told.push(progress) });
    expect(outcome.output).toBe("right");
    await until(() => told.length === 1);
    expect(told).toEqual([{ progress: Number(BIG), total: Number(`1${BIG}`) }]);
  });
});
