import { describe, expect, test } from "vitest";
import { FakeClock } from "../fixtures/fake_clock.ts";
import type { HostilePipes, HostileProgram } from "../fixtures/hostile_program.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../fixtures/http_server.mjs";
import { until } from "../fixtures/settle.ts";
import { after, attackedBy, run, type Scene, surviveAll, warnings } from "./attacks.ts";

surviveAll();

type Json = Readonly<Record<string, unknown>>;

const PATIENT = { startTimeoutMs: 60_000, probeTimeoutMs: 60_000 };

async function over(options: HttpServerOptions, config: object = {}): Promise<{ server: HttpServer; scene: Scene }> {
  const server = await startHttpServer({ era: "legacy", ...options });
  after(() => server.close());
  const scene = await attackedBy({ url: server.url }, {}, { ...PATIENT, ...config });
  await scene.host.ready();
  return { server, scene };
}

const echo = (scene: Scene): ReturnType<Scene["session"]["tool"]> =>
  scene.session.tool("mcp.hostile.echo", { message: "hi" });

const asked = ({ log }: HttpServer, method: string): HttpServer["log"] =>
  log.filter((each) => each.message?.method === method);

describe("FR-19 network that comes and goes", () => {
  test("FR-19 a stream that breaks and requests that fail twice cost no session: both are taken up again", async () => {
    const { server, scene } = await over({
      getStream: true,
      rules: [{ on: "tools/call", times: 2, reset: "before" }],
    });
    await until(() => asked(server, "GET").length === 1);
    server.dropStreams();
    for (let call = 0; call < 2; call++) {
      expect(await echo(scene)).toMatchObject({ status: "unknown", error: { reason: "connection_lost" } });
    }
    expect((await echo(scene)).output).toBe("hi");
    await until(() => asked(server, "GET").length >= 2);
    expect(asked(server, "initialize")).toHaveLength(1);
    const sessions = new Set(asked(server, "tools/call").map(({ headers }) => headers["mcp-session-id"]));
    expect([...sessions]).toEqual(["session-1"]);
    // What was lost is not sent again by itself.
    expect(asked(server, "tools/call")).toHaveLength(3);
    expect(await scene.events("mcp.server.crashed")).toEqual([]);
    expect(scene.host.globalMcpStatus()[0]).toMatchObject({ state: "ready", connected: true });
  });

  test.each<[string, (scene: Scene) => unknown]>([
    ["that wants a login", () => {}],
    ["that was closed", ({ host }) => host.syncGlobalMcpServers([{ name: "bystander", command: "bystander" }])],
  ])("FR-19 a server %s is not called upon again, however long it takes", async (_claim, end) => {
    const clock = new FakeClock();
    const scene = await attackedBy({ url: "https://mcp.test/mcp" }, {
      clock,
      fetch: () => Promise.resolve(new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } })),
    });
    await clock.advance(1000);
    expect(scene.host.globalMcpStatus()[0]!.state).toBe("auth_required");
    await end(scene);
    await clock.advance(3_600_000);
    expect(scene.fetched).toHaveLength(1);
    expect(await scene.events("mcp.server.restarting")).toEqual([]);
  });
});

describe("FR-28 redirect of the standing stream", () => {
  test("FR-28 within the origin is followed, and what comes on it is heard", async () => {
    const { server, scene } = await over({ getStream: true, rules: [{ on: "GET", times: 1, redirect: "/mcp/" }] });
    await until(() => asked(server, "GET").some(({ path }) => path === "/mcp/"));
    await until(() => server.openAnswers() > 0);
    await server.push({ jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data: "heard" } });
    await expect.poll(async () => (await scene.events("mcp.log")).map(({ payload }) => payload.data)).toEqual([
      "heard",
    ]);
    expect((await echo(scene)).output).toBe("hi");
  });
});

describe("FR-32 revision of an older server", () => {
  test.each(["2025-03-26", "2025-06-18", "2025-11-25"])(
    "FR-32 %s is gone on with, in the header of every later request too",
    async (version) => {
      const { server, scene } = await over({ version });
      expect((await echo(scene)).output).toBe("hi");
      const [ready] = (await scene.events("mcp.server.ready")).filter(({ payload }) => payload.server === "hostile");
      expect(ready!.payload.protocolVersion).toBe(version);
      const later = server.log.slice(server.log.findIndex(({ message }) => message?.method === "initialize") + 1);
      expect(later.length).toBeGreaterThan(2);
      expect(new Set(later.map(({ headers }) => headers["mcp-protocol-version"]))).toEqual(new Set([version]));
    },
  );

  test.each(["1999-01-01", "2099-01-01"])(
    "FR-32 %s is none: both are named, and the session is ended",
    async (version) => {
      const { server, scene } = await over({ version }, { restart: { auto: false } });
      const [crash] = await scene.events("mcp.server.crashed");
      expect(crash!.payload.error).toMatchObject({
        code: "ERR_VERSION",
        message: expect.stringMatching(new RegExp(`speaks ${version}; wanted one of .*2025-11-25`)) as string,
      });
      expect(asked(server, "notifications/initialized")).toEqual([]);
      await until(() => server.log.some(({ method }) => method === "DELETE"));
    },
  );

  test.each<[string, Json]>([["missing", {}], ["a number", { protocolVersion: 20250618 }], ["null", {
    protocolVersion: null,
  }]])(
    "FR-32 one that is %s is none either",
    async (_claim, version) => {
      const scene = await attackedBy(
        {
          hear: ({ method }) => method === "initialize" ? { capabilities: { tools: {} }, ...version } : undefined,
        },
        {},
        { restart: { auto: false } },
      );
      await scene.host.ready();
      expect(scene.host.globalMcpStatus()[0]!.state).toBe("permanently_failed");
      expect((await scene.events("mcp.server.crashed"))[0]!.payload.error?.message).toContain("initialize");
    },
  );
});

describe("FR-38 server that asks and waits", () => {
  const METHODS = ["roots/list", "sampling/createMessage", "elicitation/create", "ping", "x/unknown"];
  const IDS = [0, 1, 2, "a", "1"];

  /** Answers a call only when all that it has asked under these ids is answered. */
  const asking = (): HostileProgram & { readonly replies: Map<unknown, Json> } => {
    const replies = new Map<unknown, Json>();
    return {
      replies,
      hear({ id, method }, pipes) {
        if (method !== "tools/call") return undefined;
        METHODS.forEach((name, at) => void pipes.say({ id: IDS[at], method: name, params: {} }));
        void (async () => {
          await until(() => pipes.answers.length === METHODS.length);
          for (const answer of pipes.answers) replies.set(answer["id"], answer);
          void pipes.say({ id, result: { content: [{ type: "text", text: "answered" }] } });
        })();
        return null;
      },
    };
  };

  test("FR-38 gets an answer to everything, whatever its ids are: ping a result, what was not announced -32601", async () => {
    const program = asking();
    const scene = await attackedBy(program);
    expect((await run(scene)).output).toBe("answered");
    expect([...program.replies.keys()].sort()).toEqual([...IDS].sort());
    METHODS.forEach((method, at) => {
      const reply = program.replies.get(IDS[at])!;
      if (method === "ping") expect(reply["result"]).toEqual({});
      else expect(reply["error"]).toMatchObject({ code: -32601 });
    });
    expect(await warnings(scene)).toEqual({});
    expect((await run(scene)).output).toBe("answered");
  });

  test("FR-38 gets the result of what was announced, under the very id", async () => {
    const program = asking();
    const scene = await attackedBy(program, { asks: { roots: () => [{ uri: "file:///project", name: "work" }] } });
    expect((await run(scene)).output).toBe("answered");
    expect(program.replies.get(0)).toMatchObject({
      id: 0,
      result: { roots: [{ uri: "file:///project", name: "work" }] },
    });
    expect(program.replies.get("a")).toMatchObject({ id: "a", result: {} });
  });
});

describe("FR-50 schema with references", () => {
  const tree = {
    type: "object",
    $defs: { node: { type: "object", properties: { value: { type: "integer" }, next: { $ref: "#/$defs/node" } } } },
    definitions: { name: { type: "string" } },
    properties: { root: { $ref: "#/$defs/node" }, name: { $ref: "#/definitions/name" } },
    required: ["root"],
    additionalProperties: false,
  };

  test("FR-50 is shown whole, with what its references lead to, and arguments are held against all of it", async () => {
    const scene = await attackedBy({ tools: [{ name: "run", inputSchema: tree }] });
    await scene.host.ready();
    const [shown] = scene.session.toolDefinitions({ format: "openai" })
      .filter(({ function: { name } }) => name === "mcp__hostile__run");
    expect(shown!.function.parameters).toEqual(tree);
    expect((await run(scene, { root: { value: 1, next: { next: { value: 2 } } }, name: "x" })).status).toBe(
      "completed",
    );
    for (const args of [{ root: { next: { next: { value: "2" } } } }, { root: {}, name: 7 }, { root: {}, more: 1 }]) {
      expect(await run(scene, args)).toMatchObject({ status: "failed", error: { reason: "invalid_arguments" } });
    }
    expect(scene.fetched).toEqual([]);
  });
});

describe("FR-51 notices of changes", () => {
  test.each(["2025-06-18", "2024-11-05"])(
    "FR-51 of a server that announced none (%s) are heard, together, and told only where something changed",
    async (version) => {
      const clock = new FakeClock();
      let lists = 0;
      let names = ["run"];
      let pipe: HostilePipes | undefined;
      const scene = await attackedBy({
        version,
        start: (pipes) => void (pipe = pipes),
        hear({ method }) {
          if (method !== "tools/list") return undefined;
          lists++;
          return { tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) };
        },
      }, { clock });
      await clock.advance(0);
      const tell = (count: number): void => {
        for (let at = 0; at < count; at++) {
          void pipe!.say({ method: "notifications/tools/list_changed" });
          void pipe!.say({ method: "notifications/unheard_of", params: { at } });
        }
      };
      names = ["run", "added"];
      tell(50);
      await clock.advance(20_000);
      expect(lists).toBe(2);
      expect(scene.session.toolNames()).toContain("mcp__hostile__added");
      const changes = (): Promise<unknown[]> =>
        scene.events("mcp.catalog.changed").then((events) => events.map(({ payload }) => payload));
      expect(await changes()).toEqual([{ server: "hostile", added: ["added"], removed: [], changed: [] }]);
      tell(50);
      await clock.advance(60_000);
      expect(lists).toBe(3);
      expect(await changes()).toHaveLength(1);
    },
  );
});

describe("FR-58 addresses of resources", () => {
  test("FR-58 go back byte for byte as they were listed, and templates are expanded once", async () => {
    const uris = [
      "file:///a b/100%25/%2f?x=é#y",
      "FILE:///Docs/%e4",
      "x:%2520",
      "mem://host:80/./../a",
      "http://h.test",
    ];
    const read: unknown[] = [];
    const scene = await attackedBy({
      capabilities: { resources: {} },
      hear({ method, params }) {
        switch (method) {
          case "resources/list":
            return { resources: uris.map((uri, at) => ({ uri, name: `r${at}` })) };
          case "resources/templates/list":
            return {
              resourceTemplates: ["file:///docs/café/{name}", "file:///docs/{+path}"].map((uriTemplate, at) => ({
                uriTemplate,
                name: `t${at}`,
              })),
            };
          case "resources/read":
            read.push(params["uri"]);
            return { contents: [{ uri: params["uri"], text: "x" }] };
        }
        return undefined;
      },
    });
    await scene.host.ready();
    for (const { uri } of await scene.session.resources.list()) {
      expect((await scene.session.resources.read(uri, { server: "hostile" })).status).toBe("completed");
    }
    expect(read.splice(0)).toEqual(uris);
    // Both templates lead here.
    const uri = "file:///docs/caf%C3%A9/a%20b.txt";
    expect((await scene.session.resources.read(uri, { server: "hostile" })).status).toBe("completed");
    expect(read).toEqual([uri]);
    expect(scene.fetched).toEqual([]);
  });
});

describe("FR-59 arguments of prompts", () => {
  const prompts = [
    { name: "review", arguments: [{ name: "repo", required: true }, { name: "depth" }] },
    { name: "optional", arguments: [{ name: "depth" }] },
    { name: "plain", arguments: [] },
    { name: "bare" },
  ];

  /** A host over these prompts, and what was sent for them. */
  const hosted = async (): Promise<{ scene: Scene; sent: unknown[] }> => {
    const sent: unknown[] = [];
    const scene = await attackedBy({
      capabilities: { prompts: {} },
      hear({ method, params }) {
        if (method === "prompts/list") return { prompts };
        if (method !== "prompts/get") return undefined;
        sent.push(params["arguments"]);
        return { messages: [{ role: "user", content: { type: "text", text: "hi" } }] };
      },
    });
    await scene.host.ready();
    return { scene, sent };
  };

  test.each<[string, Json | undefined, unknown]>([
    ["review", { repo: "" }, { repo: "" }],
    ["review", { repo: 5, depth: true }, { repo: "5", depth: "true" }],
    ["review", { repo: "a", depth: undefined }, { repo: "a" }],
    ["optional", undefined, {}],
    ["plain", undefined, {}],
    ["bare", {}, {}],
  ])("FR-59 of %s: %j go out as %j", async (name, args, wanted) => {
    const { scene, sent } = await hosted();
    expect((await scene.session.prompts.invoke(name, args)).status).toBe("completed");
    // No arguments may also be none at all.
    expect(sent.map((each) => each ?? {})).toEqual([wanted]);
  });

  test.each<[string, Json | undefined, string]>([
    ["review", undefined, '"repo" is missing'],
    ["review", { depth: "1" }, '"repo" is missing'],
    ["review", { repo: "a", extra: "1" }, '"extra"'],
    ["plain", { repo: "a" }, '"repo"'],
  ])("FR-59 of %s: %j are refused by name, and nothing is sent", async (name, args, why) => {
    const { scene, sent } = await hosted();
    const outcome = await scene.session.prompts.invoke(name, args);
    expect(outcome).toMatchObject({ status: "failed", error: { reason: "invalid_arguments" } });
    expect(outcome.error!.message).toContain(why);
    expect(sent).toEqual([]);
  });
});
