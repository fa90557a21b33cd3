import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { hostileFetch } from "../fixtures/hostile_fetch.ts";
import { type Heard, type HostilePipes, type HostileProgram, MODERN, text } from "../fixtures/hostile_program.ts";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { leastCpuMs } from "../unit/cpu_time.ts";
import { compileSchema } from "../../src/catalog/json_schema/compile.ts";
import { after, attackedBy, run, runtime, type Scene, SECRET, surviveAll, warnings } from "./attacks.ts";

surviveAll();

type Json = Readonly<Record<string, unknown>>;

const tool = (name: string, more: Json = {}): Json => ({ name, inputSchema: { type: "object" }, ...more });

const onCall = (answer: (heard: Heard, pipes: HostilePipes) => unknown, more: HostileProgram = {}): HostileProgram => ({
  ...more,
  hear: (heard, pipes) => heard.method === "tools/call" ? answer(heard, pipes) : undefined,
});

const listing = async (tools: readonly unknown[], config: object = {}): Promise<Scene> => {
  const scene = await attackedBy({ tools }, {}, { restart: { auto: false }, ...config });
  await scene.host.ready();
  return scene;
};

const hostileTools = (scene: Scene): string[] =>
  scene.session.toolNames().filter((name) => name.startsWith("mcp__hostile__"));

const rejected = async (scene: Scene): Promise<Record<string, string>> =>
  Object.fromEntries((await scene.events("mcp.tool.rejected")).map(({ payload: { tool, why } }) => [tool, why]));

describe("A-28 huge list of tools", () => {
  test("A-28 of 50,000 is cut at the cap, with one warning and few events", async () => {
    const tools = Array.from({ length: 50_000 }, (_, at) => tool(`t${at}`));
    const scene = await listing(tools);
    expect(hostileTools(scene)).toHaveLength(1000);
    expect(await warnings(scene)).toMatchObject({ list_truncated: 1 });
    expect((await scene.log()).length).toBeLessThan(50_000);
    expect((await scene.session.tool("mcp.hostile.t999", {})).status).toBe("completed");
    expect((await scene.session.tool("mcp.hostile.t1000", {})).error?.reason).toBe("not_found");
  });

  test("A-28 a tool with too long a description is refused alone, with an event that does not repeat it", async () => {
    const scene = await listing([tool("big", { description: "d".repeat(300 << 10) }), tool("run")]);
    expect(hostileTools(scene)).toEqual(["mcp__hostile__run"]);
    expect(await rejected(scene)).toEqual({ big: expect.stringContaining("65536 bytes") });
    expect((await scene.log()).length).toBeLessThan(20_000);
  });

  test("A-28 one of 5 MiB costs its own server at most, in bounded memory", async () => {
    let scene: Scene | undefined;
    const growth = await peakGrowth(async () => {
      scene = await listing([tool("big", { description: "d".repeat(5 << 20) }), tool("run")]);
    });
    expect(growth).toBeLessThan(64 << 20);
    expect(scene!.session.toolNames()).not.toContain("mcp__hostile__big");
    const [found] = [...await scene!.events("mcp.tool.rejected"), ...await scene!.events("mcp.server.crashed")];
    expect(found).toBeDefined();
    expect((await scene!.log()).length).toBeLessThan(20_000);
  });
});

describe("A-34 remote reference", () => {
  test("A-34 in a schema makes its tool unusable; no connection is made and no file is read", async () => {
    let connections = 0;
    const web = createServer((_request, response) => void response.end("{}"));
    web.on("connection", () => connections++);
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    after(() => new Promise((resolve) => web.close(resolve)));
    const { port } = web.address() as AddressInfo;
    const touched: string[] = [];
    const files = runtime.files && new Proxy(runtime.files, {
      get: (target, name) => {
        touched.push(String(name));
        return Reflect.get(target, name) as unknown;
      },
    });
    const targets = [`http://127.0.0.1:${port}/s.json`, "file:///etc/passwd", "//127.0.0.1/s.json", "other.json"];
    const tools = targets.flatMap((target, at) => [
      tool(`ref${at}`, { inputSchema: { type: "object", properties: { a: { $ref: target } } } }),
      tool(`meta${at}`, { inputSchema: { $schema: target, type: "object", $ref: target } }),
      tool(`dynamic${at}`, { inputSchema: { type: "object", $dynamicRef: target } }),
      tool(`output${at}`, { outputSchema: { type: "object", $ref: target } }),
    ]);
    const scene = await attackedBy({ tools: [...tools, tool("run")] }, {
      runtime: { ...runtime, ...(files === undefined ? {} : { files }) },
    });
    await scene.host.ready();
    // Without its output schema a tool is as good as one that has none.
    expect(hostileTools(scene)).toEqual([...targets.map((_, at) => `mcp__hostile__output${at}`), "mcp__hostile__run"]);
    expect(Object.keys(await rejected(scene))).toHaveLength(12);
    expect((await scene.session.tool("mcp.hostile.ref0", { a: 1 })).error?.reason).toBe("not_found");
    expect((await scene.session.tool("mcp.hostile.output0", {})).status).toBe("completed");
    expect([connections, scene.fetched, touched]).toEqual([0, [], []]);
  });
});

describe("A-35 schema bomb", () => {
  const doubling = {
    type: "object",
    $defs: Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => {
        const next = { $ref: `#/$defs/d${at + 1}` };
        return [`d${at}`, at === 29 ? {} : { allOf: [next, next] }];
      }),
    ),
    $ref: "#/$defs/d0",
  };
  const deep = (levels: number): Json => {
    let schema: Json = {};
    for (let at = 0; at < levels; at++) schema = { properties: { a: schema } };
    return { type: "object", ...schema };
  };
  const wide = { type: "object", properties: Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [at, {}])) };

  test("A-35 of every kind is refused with its tool, and the others are used", async () => {
    const tools = [
      tool("doubling", { inputSchema: doubling }),
      tool("self", { inputSchema: { type: "object", $ref: "#" } }),
      tool("round", { inputSchema: { type: "object", $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#" }] } } } }),
      tool("deep", { inputSchema: deep(20) }),
      tool("wide", { inputSchema: wide }),
      tool("run"),
    ];
    const scene = await listing(tools);
    expect(hostileTools(scene)).toEqual(["mcp__hostile__deep", "mcp__hostile__run"]);
    expect(Object.keys(await rejected(scene)).sort()).toEqual(["doubling", "round", "self", "wide"]);
  });

  test("A-35 of 10,000 levels never gets as far as a schema: the list is refused", async () => {
    const levels = `${'{"a":'.repeat(10_000)}{}${"}".repeat(10_000)}`;
    const scene = await attackedBy(
      {
        hear({ id, method }, pipes) {
          if (method !== "tools/list") return undefined;
          void pipes.say(
            `{"jsonrpc":"2.0","id":${String(id)},"result":{"tools":[{"name":"deep","inputSchema":${levels}}]}}`,
          );
          return null;
        },
      },
      {},
      { restart: { auto: false } },
    );
    await scene.host.ready();
    expect(hostileTools(scene)).toEqual([]);
    expect(await scene.events("mcp.server.crashed")).toMatchObject([{ payload: { reason: "frame_too_large" } }]);
  });

  test("A-35 takes no time to be refused", () => {
    for (const schema of [doubling, deep(10_000), wide]) {
      // As it comes from a server: no two of its schemas are one object.
      const parsed: unknown = schema === doubling ? JSON.parse(JSON.stringify(schema)) : schema;
      expect(leastCpuMs(5, () => expect(compileSchema(parsed).usable).toBe(false))).toBeLessThan(100);
    }
  });

  test("A-35 that is one for values only ends its call unsent, soon", async () => {
    const node = { properties: { a: { allOf: [{ $ref: "#/$defs/n" }, { $ref: "#/$defs/n" }] } } };
    let calls = 0;
    const scene = await attackedBy(onCall(() => void calls++, {
      tools: [tool("run", { inputSchema: { type: "object", $defs: { n: node }, $ref: "#/$defs/n" } })],
    }));
    let args: Json = {};
    for (let at = 0; at < 60; at++) args = { a: args };
    expect(await run(scene, args)).toMatchObject({ status: "failed", error: { reason: "invalid_arguments" } });
    expect(calls).toBe(0);
  });
});

describe("A-38 result that does not fit", () => {
  const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const answering = (result: unknown, version: string): Promise<Scene> =>
    attackedBy(onCall(() => result, { version, tools: [tool("run", { outputSchema })] }));
  const good = { structuredContent: { n: 1 } };
  const block = text("hi").content as Json[];
  const VERSIONS = ["2025-11-25", MODERN];

  test.each<[string, Json, string[]]>([
    ["structured content of another type", { content: block, structuredContent: { n: "1" } }, [
      "structured_content_invalid",
    ]],
    ["structured content that is none", { content: block, structuredContent: 7 }, ["structured_content_invalid"]],
    ["no structured content", { content: block }, ["structured_content_missing"]],
    ["an image in wrong base64", { ...good, content: [{ type: "image", mimeType: "image/png", data: "!!!" }] }, [
      "invalid_base64",
    ]],
    ["sound cut in its base64", { ...good, content: [{ type: "audio", mimeType: "audio/wav", data: "AAAAA" }] }, [
      "invalid_base64",
    ]],
    ["a data URL where base64 is wanted", {
      ...good,
      content: [{ type: "image", mimeType: "image/png", data: "data:image/png;base64,AAEC" }],
    }, ["invalid_base64"]],
    ["a blob that is no text at all", {
      ...good,
      content: [{ type: "resource", resource: { uri: "x:y", blob: 7 } }],
    }, ["invalid_base64"]],
    ["a type that nobody knows", { ...good, content: [{ type: "hologram", data: { x: 1 } }, ...block] }, []],
    ["whole base64 of every kind", {
      ...good,
      content: [
        { type: "image", mimeType: "image/png", data: "AAEC" },
        { type: "audio", mimeType: "audio/wav", data: "AAE=" },
        { type: "resource", resource: { uri: "x:y", blob: "AA==" } },
        { type: "image", mimeType: "image/png", data: "" },
      ],
    }, []],
  ])("A-38 %s is passed on and flagged", async (_claim, result, rules) => {
    for (const version of VERSIONS) {
      const scene = await answering(result, version);
      const outcome = await run(scene);
      expect([outcome.status, outcome.findings.map(({ rule }) => rule)]).toEqual(["completed", rules]);
      expect(outcome.content).toEqual(result["content"]);
      expect((await scene.events("security.finding")).map(({ payload }) => payload.rule)).toEqual(rules);
    }
  });

  test.each<[string, unknown]>([
    ["content that is a text", { content: "hi" }],
    ["content that is an object", { content: { type: "text", text: "hi" } }],
    ["blocks that are none", { content: ["hi"] }],
    ["a block without a type", { content: [{ text: "hi" }] }],
    ["an isError that is a text", { content: [], isError: "no" }],
    ["neither content nor structured content", {}],
    ["a list", []],
    ["a number", 7],
  ])("A-38 %s fails its call, and nothing else", async (_claim, result) => {
    for (const version of VERSIONS) {
      const scene = await attackedBy({
        version,
        hear({ id, method, params }, pipes) {
          if (method !== "tools/call" || "n" in (params["arguments"] as object)) return undefined;
          const isObject = typeof result === "object" && !Array.isArray(result);
          void pipes.say({ id, result: isObject ? { resultType: "complete", ...result } : result });
          return null;
        },
      });
      expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "invalid_result" } });
      expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
      expect(await scene.events("mcp.server.crashed")).toEqual([]);
    }
  });

  test("A-38 a result without its type is complete, whatever the revision", async () => {
    for (const version of ["2024-11-05", "2025-11-25", MODERN]) {
      const scene = await attackedBy({
        version,
        hear({ id, method }, pipes) {
          if (method !== "tools/call") return undefined;
          void pipes.say({ id, result: text("untyped") });
          return null;
        },
      });
      expect(await run(scene)).toMatchObject({ status: "completed", output: "untyped" });
    }
  });
});

describe("A-39 hostile x-mcp-header", () => {
  const annotated = (header: unknown, type = "string"): Json => ({ type, "x-mcp-header": header });
  const properties = (members: Json): Json => ({ inputSchema: { type: "object", properties: members } });
  const hosted = async (tools: readonly unknown[]): Promise<Scene & { readonly headers: Record<string, string>[] }> => {
    const headers: Record<string, string>[] = [];
    const fetch = hostileFetch((asked) => {
      if (asked.method === "tools/call") headers.push(Object.fromEntries(new Headers(asked.headers).entries()));
      return undefined;
    }, tools);
    const scene = await attackedBy({ url: "https://mcp.test/mcp" }, { fetch });
    await scene.host.ready();
    return { ...scene, headers };
  };

  test("A-39 of every kind excludes its tool, with its name and the reason, and no other", async () => {
    const scene = await hosted([
      tool("empty", properties({ a: annotated("") })),
      tool("line", properties({ a: annotated("A\r\nX: y") })),
      tool("authorization", properties({ a: annotated("Authorization") })),
      tool("host", properties({ a: annotated("Host") })),
      tool("cookie", properties({ a: annotated("cookie") })),
      tool("twice", properties({ a: annotated("Region"), b: annotated("REGION") })),
      tool("item", properties({ a: { type: "array", items: annotated("A") } })),
      tool("number", properties({ a: annotated(7) })),
      tool("good", properties({ a: annotated("Region") })),
      tool("plain"),
    ]);
    expect(hostileTools(scene)).toEqual(["mcp__hostile__good", "mcp__hostile__plain"]);
    const why = await rejected(scene);
    expect(Object.keys(why).sort()).toEqual(
      ["authorization", "cookie", "empty", "host", "item", "line", "number", "twice"],
    );
    for (const reason of Object.values(why)) expect(reason).toContain("x-mcp-header");
    expect((await scene.session.tool("mcp.hostile.line", { a: "x" })).error?.reason).toBe("not_found");
    expect(scene.headers).toEqual([]);
  });

  test.each([
    ["a line end", "a\r\nX-Evil: 1"],
    ["a NUL", "a\0b"],
    ["letters beyond ASCII", "Zürich 漢"],
    ["white space at its end", "a "],
    ["a tab", "a\tb"],
    ["what looks wrapped already", "=?base64?AAAA?="],
  ])("A-39 a value with %s is wrapped, and no header is added", async (_claim, value) => {
    const scene = await hosted([tool("run", properties({ a: annotated("Region") }))]);
    expect((await run(scene, { a: value })).status).toBe("completed");
    const [headers] = scene.headers;
    const wrapped = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(headers!["mcp-param-region"]!);
    expect(new TextDecoder().decode(Uint8Array.from(atob(wrapped![1]!), (char) => char.charCodeAt(0)))).toBe(value);
    expect(headers).not.toHaveProperty("x-evil");
  });
});

describe("A-93 hostile icons", () => {
  const good = { src: "https://cdn.test/icon.png", mimeType: "image/png", sizes: ["48x48"] };
  const icons = [
    { src: "javascript:alert(1)" },
    { src: "file:///etc/passwd" },
    { src: "http://other.test/icon.png" },
    { src: "ftp://other.test/icon.png" },
    { src: "data:text/html,<script>alert(1)</script>" },
    { src: "data:image/svg+xml,<svg onload=alert(1)/>" },
    { src: "blob:https://cdn.test/1" },
    { src: "icon.png" },
    { src: " javascript:alert(1)" },
    { src: 7 },
    "https://cdn.test/icon.png",
    null,
    { src: "data:image/png;base64,AAEC" },
    good,
  ];
  const kept = [{ src: "data:image/png;base64,AAEC" }, good];

  test("A-93 are dropped where they are unsafe, wherever they are shown, and none is ever fetched", async () => {
    const scene = await attackedBy({
      capabilities: { resources: {}, prompts: {} },
      tools: [
        tool("run", { icons }),
        tool("none", { icons: [{ src: "javascript:alert(1)" }] }),
        tool("odd", { icons: "javascript:alert(1)" }),
        tool("many", { icons: Array.from({ length: 500 }, () => good) }),
      ],
      hear({ method }) {
        switch (method) {
          case "resources/list":
            return { resources: [{ uri: "x:a", name: "a", icons }] };
          case "resources/templates/list":
            return { resourceTemplates: [{ uriTemplate: "x:{a}", name: "a", icons }] };
          case "prompts/list":
            return { prompts: [{ name: "a", icons }] };
          case "tools/call":
            return { content: [{ type: "resource_link", uri: "x:a", name: "a", icons }] };
        }
        return undefined;
      },
    });
    await scene.host.ready();
    const { session } = scene;
    const shown = new Map(session.toolDefinitions({ format: "mcp" }).map((each) => [each.name, each]));
    expect(shown.get("mcp__hostile__run")!["icons"]).toEqual(kept);
    for (const name of ["none", "odd"]) expect(shown.get(`mcp__hostile__${name}`)).not.toHaveProperty("icons");
    expect((shown.get("mcp__hostile__many")!["icons"] as unknown[]).length).toBeLessThanOrEqual(20);
    const [[resource], [template], [prompt]] = [
      await session.resources.list(),
      await session.resources.templates(),
      await session.prompts.list(),
    ];
    for (const each of [resource, template, prompt, (await run(scene)).content[0]]) {
      expect((each as Json | undefined)?.["icons"]).toEqual(kept);
    }
    expect(scene.fetched).toEqual([]);
    expect(await scene.log()).not.toContain("javascript:");
  });

  test("A-93 one of 50 MiB costs its own server at most", async () => {
    const src = `data:image/png;base64,${"A".repeat(50 << 20)}`;
    const scene = await listing([tool("big", { icons: [{ src }] }), tool("run")]);
    expect(scene.session.toolNames()).not.toContain("mcp__hostile__big");
    expect((await scene.log()).length).toBeLessThan(20_000);
  });
});

describe("A-96 abuse of requestState", () => {
  const ask = {
    method: "elicitation/create",
    params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } },
  };
  const required = (requestState: string | undefined, inputRequests: object | undefined = { ask }): Json => ({
    resultType: "input_required",
    ...(requestState === undefined ? {} : { requestState }),
    ...(inputRequests === undefined ? {} : { inputRequests }),
  });
  const asks = { form: () => ({ action: "accept" as const, content: {} }) };
  const states = (heard: readonly Heard[]): unknown[] => heard.map(({ params }) => params["requestState"]);

  test("A-96 of 10 MiB fails its call as too large, and is neither kept nor sent back", async () => {
    const heard: Heard[] = [];
    const scene = await attackedBy(
      onCall((asked) => {
        heard.push(asked);
        return heard.length === 1 ? required("s".repeat(10 << 20)) : undefined;
      }, { version: MODERN }),
      { asks },
    );
    expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "too_large" } });
    expect(heard).toHaveLength(1);
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
    expect((await scene.log()).length).toBeLessThan(20_000);
  });

  test("A-96 goes back with the next round of its own call, as it came, and with no other request", async () => {
    const heard: Heard[] = [];
    const scene = await attackedBy(
      onCall((asked) => {
        heard.push(asked);
        const { round } = asked.params["arguments"] as { round?: boolean };
        return round === true && asked.params["requestState"] === undefined
          ? required(`state-${SECRET.length} é\n`)
          : undefined;
      }, { version: MODERN }),
      { asks },
    );
    const calls = [run(scene, { round: true }), run(scene, { other: 1 }), run(scene, { other: 2 })];
    for (const call of calls) expect((await call).status).toBe("completed");
    expect((await run(scene, { other: 3 })).status).toBe("completed");
    const withState = heard.filter(({ params }) => "requestState" in params);
    expect(states(withState)).toEqual([`state-${SECRET.length} é\n`]);
    expect(withState[0]!.params["arguments"]).toEqual({ round: true });
    expect(new Set(heard.map(({ id }) => id)).size).toBe(heard.length);
  });

  test("A-96 rounds without an end stop at the eighth", async () => {
    const heard: Heard[] = [];
    const scene = await attackedBy(
      onCall((asked) => {
        heard.push(asked);
        return required(`state-${heard.length}`);
      }, { version: MODERN }),
      { asks },
    );
    expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "too_many_rounds" } });
    expect(states(heard)).toEqual([undefined, ...Array.from({ length: 7 }, (_, at) => `state-${at + 1}`)]);
    expect(await scene.events("mcp.call.started")).toHaveLength(8);
    expect(await scene.events("mcp.call.completed")).toHaveLength(8);
  });
});
