import { describe, expect, it } from "vitest";
import type { FetchFunction, Runtime, SpawnPlan } from "../../../src/kernel/runtime.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { normaliseServer } from "../../../src/servers/config.ts";
import { registerSecrets, serverFingerprint } from "../../../src/servers/config_secrets.ts";
import { type DialContext, dialServer } from "../../../src/servers/dial.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";

const clock = new FakeClock();
const secrets = new SecretRegistry();

function runtime(parts: Partial<Runtime> = {}, environment: Record<string, string> = {}): Runtime {
  return {
    name: "test",
    version: "1",
    fetch: () => Promise.reject(new Error("unused")),
    contentLengthIsDecoded: true,
    environment: () => environment,
    ...parts,
  };
}

async function plan(config: object, environment: Record<string, string>): Promise<SpawnPlan> {
  let seen: SpawnPlan | undefined;
  const spawn: Runtime["spawn"] = (given) => {
    seen = given;
    return Promise.reject(Object.assign(new Error("no"), { code: "ENOENT" }));
  };
  const { dialer } = dialServer(normaliseServer({ name: "a", command: "x", ...config }), {
    runtime: runtime({ spawn }, environment),
    clock,
    secrets,
  });
  await dialer.dial({} as never, {} as never).catch(() => {});
  return seen!;
}

/** What arrives at the server's side of a `fetch`. */
async function request(
  config: object,
  parts: Pick<DialContext, "auth"> = {},
): Promise<{ url: string; headers: Headers }> {
  const seen: { url: string; headers: Headers }[] = [];
  const fetch: Runtime["fetch"] = (url, init) => {
    seen.push({ url, headers: new Headers(init?.headers) });
    return Promise.reject(new TypeError("no"));
  };
  const { dialer } = dialServer(normaliseServer({ name: "a", ...config }), {
    runtime: runtime({ fetch }),
    clock,
    secrets,
    ...parts,
  });
  const handlers = {
    onMessage: () => {},
    onMalformed: () => {},
    onLost: () => {},
    onWarning: () => {},
    onResent: () => {},
    onClosed: () => {},
  };
  const transport = await dialer.dial(
    { sessions: false, cancelsByClosing: true, batches: false, headers: () => ({}) },
    handlers,
  );
  await transport.send({ text: "{}", method: "ping", id: 1 });
  await transport.close();
  return seen[0]!;
}

describe("child environment", () => {
  const host = { PATH: "/bin", HOME: "/home/me", LC_ALL: "C", FAKE_CLOUD_KEY: "secret", SHELL: "() { evil; }" };

  it("A-08 holds what programs need and none of the host's secrets", async () => {
    expect((await plan({}, host)).env).toEqual({ PATH: "/bin", HOME: "/home/me", LC_ALL: "C" });
  });

  it("FR-10 a configured variable is laid over the base", async () => {
    expect((await plan({ env: { API_KEY: "x", HOME: "/elsewhere", EMPTY: "" } }, host)).env).toEqual({
      PATH: "/bin",
      HOME: "/elsewhere",
      LC_ALL: "C",
      API_KEY: "x",
      EMPTY: "",
    });
  });

  it("inherits all or nothing when told to", async () => {
    expect((await plan({ inheritEnv: "all", env: { A: "1" } }, host)).env).toEqual({ ...host, A: "1" });
    expect((await plan({ inheritEnv: "none", env: { A: "1" } }, host)).env).toEqual({ A: "1" });
  });

  it("on Windows a configured PATH replaces the host's Path", async () => {
    expect(
      (await plan({ env: { PATH: "C:\\mine" } }, { SystemRoot: "C:\\Windows", Path: "C:\\theirs", PATHEXT: ".EXE" }))
        .env,
    ).toEqual({
      SystemRoot: "C:\\Windows",
      PATHEXT: ".EXE",
      PATH: "C:\\mine",
    });
  });
});

describe("dial", () => {
  it("a child process without spawn names the way out", () => {
    expect(() => dialServer(normaliseServer({ name: "a", command: "x" }), { runtime: runtime(), clock, secrets }))
      .toThrow(
        expect.objectContaining({ code: "ERR_UNSUPPORTED_HERE", message: expect.stringContaining("Streamable HTTP") }),
      );
  });

  it("a sandbox that was not handed in names what to do instead", () => {
    const spawn: Runtime["spawn"] = () => Promise.reject(new Error("unused"));
    const config = normaliseServer({ name: "a", command: "x", sandbox: { memory: 1 } });
    expect(() => dialServer(config, { runtime: runtime({ spawn }), clock, secrets })).toThrow(
      expect.objectContaining({
        code: "ERR_UNSUPPORTED_HERE",
        message: expect.stringContaining("this version brings no sandbox"),
      }),
    );
  });

  it("a sandbox that was handed in stands between the dialer and the runtime, and says what it enforces", async () => {
    const spawned: string[] = [];
    const spawn: Runtime["spawn"] = () => Promise.reject(new Error("unused"));
    const dialed = dialServer(normaliseServer({ name: "a", command: "x", sandbox: { memory: 1 } }), {
      runtime: runtime({ spawn }),
      clock,
      secrets,
      sandbox: {
        confine: (config) => (given) => {
          spawned.push(`${config.name}:${given.command}`);
          return Promise.reject(new Error("no"));
        },
        enforced: () => ({ memory: "cgroup" }),
      },
    });
    await dialed.dialer.dial({} as never, {} as never).catch(() => {});
    expect(spawned).toEqual(["a:x"]);
    expect(dialed.sandbox).toEqual({ environment: "allow_list", memory: "cgroup" });
  });

  it.each([
    ["oauth", 'hand oauth() of "portcullis/auth" to the host'],
    ["client_credentials", 'hand oauth() of "portcullis/auth" to the host'],
    ["mtls", "this version brings none"],
  ])(
    "auth %s that was not handed in names what to do instead",
    (type, way) => {
      const config = normaliseServer({ name: "a", url: "https://x.test", auth: { type } });
      expect(() => dialServer(config, { runtime: runtime(), clock, secrets })).toThrow(
        expect.objectContaining({
          code: "ERR_UNSUPPORTED_HERE",
          message: expect.stringContaining(way),
        }),
      );
    },
  );

  it("auth that was handed in makes the requests", async () => {
    const seen = await request({ url: "https://x.test/mcp", auth: { type: "oauth" } }, {
      auth: [{
        types: ["oauth"],
        authorise: (_config, { addSecret }) => {
          addSecret("oauth", "fresh-0123456789");
          return { tokens: { authorization: () => "Bearer fresh-0123456789", renew: () => Promise.resolve(false) } };
        },
      }],
    });
    expect(seen.headers.get("authorization")).toBe("Bearer fresh-0123456789");
    expect([...secrets.values()].map((secret) => secret.value)).toContain("fresh-0123456789");
  });

  it("a bearer token is a header", async () => {
    const seen = await request({
      url: "https://x.test/mcp",
      headers: { "X-A": "1" },
      auth: { type: "bearer", token: "tok" },
    });
    expect([seen.headers.get("authorization"), seen.headers.get("x-a")]).toEqual(["Bearer tok", "1"]);
  });

  it("a user in the URL becomes a header, since fetch refuses it there", async () => {
    const seen = await request({ url: "https://me:p%40ss@x.test/mcp" });
    expect(seen.url).toBe("https://x.test/mcp");
    expect(seen.headers.get("authorization")).toBe(`Basic ${btoa("me:p@ss")}`);
  });

  it("a prefix that a proxy takes away is put back before the address for messages (FR-29)", async () => {
    const posted: string[] = [];
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("event: endpoint\ndata: /messages?s=1\n\n")),
    });
    const fetch: FetchFunction = (url, init) => {
      if (init?.method === "GET") {
        return Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream" } }));
      }
      posted.push(url);
      return Promise.resolve(new Response(null, { status: 202 }));
    };
    const config = normaliseServer({
      name: "a",
      transport: { type: "sse", url: "https://x.test/mcp/sse", endpointPrefix: "/mcp" },
    });
    const { dialer } = dialServer(config, { runtime: runtime({ fetch }), clock, secrets });
    const nothing = (): void => {};
    const transport = await dialer.dial(
      { sessions: true, cancelsByClosing: false, batches: false, headers: () => ({}) },
      {
        onMessage: nothing,
        onMalformed: nothing,
        onResent: nothing,
        onLost: nothing,
        onWarning: nothing,
        onClosed: nothing,
      },
    );
    await transport.send({ text: "{}", method: "n" });
    expect(posted).toEqual(["https://x.test/mcp/messages?s=1"]);
    await transport.close();
    const wrong = { name: "a", transport: { type: "sse", url: "https://x.test", endpointPrefix: "https://evil.test" } };
    expect(() => normaliseServer(wrong)).toThrow(expect.objectContaining({ code: "ERR_CONFIG" }));
  });

  it("the older HTTP with SSE is spoken where it is said, and known where HTTP is (C-VER-13)", () => {
    const dialed = (type: "http" | "sse"): ReturnType<typeof dialServer>["dialer"] => {
      const config = normaliseServer({ name: "a", transport: { type, url: "https://x.test/mcp?key=1" } });
      return dialServer(config, { runtime: runtime(), clock, secrets }).dialer;
    };
    expect(dialed("sse")).toMatchObject({ name: "sse", key: "sse:https://x.test/mcp?key=1", handshakeOnly: true });
    expect(dialed("http")).toMatchObject({ name: "http", older: { name: "sse" } });
    expect(dialed("http").handshakeOnly).toBeUndefined();
  });
});

describe("secrets of a config", () => {
  function known(config: object, expanded: readonly string[] = []): string[] {
    const registry = new SecretRegistry();
    registerSecrets(normaliseServer({ name: "a", ...config }), registry, expanded);
    return [...registry.values()].map((secret) => secret.value);
  }

  it("are known before anything starts", () => {
    expect(known({ command: "x", env: { API_KEY: "key-0123456789", LANG: "not-a-secret" } })).toEqual([
      "key-0123456789",
    ]);
    expect(
      known({
        command: "x",
        args: ["--api-key=arg-0123456789", "--token", "tok-0123456789", "--token-file", "/etc/some/file"],
      }),
    ).toEqual([
      "arg-0123456789",
      "tok-0123456789",
    ]);
    expect(
      known({ url: "https://x.test", headers: { Authorization: "Bearer abc-0123456789", "X-Trace": "not-a-secret" } }),
    ).toEqual([
      "Bearer abc-0123456789",
      "abc-0123456789",
    ]);
    expect(known({ url: "https://x.test", auth: { type: "bearer", token: "tok-0123456789" } })).toContain(
      "tok-0123456789",
    );
    expect(known({ command: "x" }, ["expanded-0123456789"])).toEqual(["expanded-0123456789"]);
  });

  it("in a URL are known in each of their spellings", () => {
    const values = known({
      url: "https://user%40long:pass%2Fword12@x.test/?api_key=query-0123456789&page=not-a-secret",
    });
    expect(values).toEqual(
      expect.arrayContaining([
        "pass%2Fword12",
        "pass/word12",
        "user@long",
        "query-0123456789",
        btoa("user@long:pass/word12"),
      ]),
    );
    expect(values).not.toContain("not-a-secret");
  });

  it("do not change the fingerprint, everything else does", async () => {
    const base = { name: "a", command: "x", env: { API_KEY: "one-0123456789", MODE: "a" } };
    const print = (config: object): Promise<string> =>
      serverFingerprint(normaliseServer({ ...base, ...config }), plainScrubber());
    const first = await print({});
    expect(await print({ env: { MODE: "a", API_KEY: "two-0123456789" } })).toBe(first);
    expect(await print({ timeoutMs: 5 })).toBe(first);
    for (
      const change of [
        { command: "y" },
        { args: ["z"] },
        { cwd: "/" },
        { env: { MODE: "b", API_KEY: "one-0123456789" } },
        { env: { MODE: "a" } },
        { name: "b" },
        { sandbox: { a: 1 } },
      ]
    ) {
      expect(await print(change)).not.toBe(first);
    }
  });
});
