import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type LoginAsk, oauthFor, type OAuthOptions } from "../../src/auth/mod.ts";
import { type Client, connectClient, httpDialer } from "../../src/client/mod.ts";
import { FakeClock } from "../fixtures/fake_clock.ts";

const installed = existsSync(fileURLToPath(new URL("../servers/node_modules/oidc-provider", import.meta.url)));
const SERVER = fileURLToPath(new URL("../fixtures/oidc_server.mjs", import.meta.url));
/** What a busy machine may need to start a program. */
const PATIENCE_MS = 60_000;
const keys = generateKeyPairSync("ec", {
  namedCurve: "P-256",
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

interface Seen {
  readonly grants: readonly string[];
  readonly registered: number;
  readonly bound: number;
  readonly errors: readonly string[];
}

let server: { readonly issuer: string; readonly url: string; readonly control: string };
let redirectUri: string;
const ends: (() => Promise<unknown>)[] = [];
const closing: (() => Promise<unknown>)[] = [];
/** What came back to the redirect address, oldest first. */
const returned: string[] = [];

/** The listener of a program that waits for a person to come back (RFC 8252, section 7.3). */
beforeAll(async () => {
  const listener = createServer((request, response) => {
    returned.push(`${redirectUri}${request.url!.slice("/callback".length)}`);
    response.end("You may close this window");
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
  ends.push(() => {
    listener.closeAllConnections?.();
    return new Promise((resolve) => listener.close(resolve));
  });
});

beforeEach(async () => {
  if (!installed) return;
  const child = spawn("node", [SERVER], {
    env: { ...process.env, CLIENT_PUBLIC_KEY: keys.publicKey },
    stdio: ["pipe", "pipe", "ignore"],
  });
  closing.push(() => {
    const ended = once(child, "exit");
    child.stdin.end();
    return ended;
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = await once(lines, "line", { signal: AbortSignal.timeout(PATIENCE_MS) });
  server = JSON.parse(line);
}, PATIENCE_MS);

afterEach(async () => {
  for (const end of closing.splice(0).reverse()) await end();
});

afterAll(async () => {
  for (const end of ends.splice(0)) await end();
});

const seen = async (): Promise<Seen> => await (await fetch(server.control)).json();
const revoke = async (what: "access" | "logins"): Promise<void> => {
  await (await fetch(`${server.control}/${what}`, { method: "POST" })).text();
};

/** A browser: follows redirects, keeps cookies, and ends where the program listens. */
async function browse({ url }: LoginAsk): Promise<string> {
  const cookies = new Map<string, string>();
  let next = url.href;
  for (let hops = 0; hops < 12; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(next, { redirect: "manual", headers: { cookie } });
    await answer.text();
    if (next.startsWith(redirectUri)) return returned.at(-1)!;
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = answer.headers.get("location");
    if (location === null) throw new Error(`No way on from ${next}: status ${answer.status}`);
    next = new URL(location, next).href;
  }
  throw new Error("Redirected without end");
}

interface Connected {
  readonly client: Client;
  readonly clock: FakeClock;
  /** Credentials in the order in which they became known, each once. */
  readonly secrets: ReadonlySet<string>;
  call(): Promise<unknown>;
}

async function connected(options: Partial<OAuthOptions> = {}): Promise<Connected> {
  const clock = new FakeClock(Date.now());
  const secrets = new Set<string>();
  const { url } = server;
  const auth = await oauthFor({
    url,
    fetch,
    clock,
    grant: { type: "authorization_code", open: browse, redirectUri },
    addSecret: (label, value) => secrets.add(`${label} ${value}`),
    ...options,
  });
  const client = await connectClient({ dialer: httpDialer({ url, ...auth }) });
  closing.push(() => client.close());
  const call = (): Promise<unknown> => client.callTool("echo", { message: "hello" });
  return { client, clock, secrets, call };
}

const ANSWER = expect.objectContaining({
  kind: "done",
  result: expect.objectContaining({ content: [{ type: "text", text: "hello" }] }),
});
const refreshTokens = ({ secrets }: Connected): number =>
  [...secrets].filter((each) => each.startsWith("oauth.refresh ")).length;

describe.skipIf(!installed)("OAuth against oidc-provider", () => {
  test("registers, logs in through loopback redirects and calls a tool", async () => {
    const { call } = await connected();
    expect(await call()).toEqual(ANSWER);
    expect(await seen()).toEqual({ grants: ["authorization_code"], registered: 1, bound: 0, errors: [] });
  }, PATIENCE_MS);

  test("an expired access token is refreshed, and the refresh token rotates each time", async () => {
    const scene = await connected();
    for (const many of [2, 3]) {
      await scene.clock.advance(120_000);
      expect(await scene.call()).toEqual(ANSWER);
      expect(refreshTokens(scene)).toBe(many);
    }
    expect((await seen()).grants).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
  }, PATIENCE_MS);

  test("a revoked access token is refreshed without a person", async () => {
    const { call } = await connected();
    await revoke("access");
    expect(await call()).toEqual(ANSWER);
    expect((await seen()).grants).toEqual(["authorization_code", "refresh_token"]);
  }, PATIENCE_MS);

  test("a revoked login is followed by another, with the registration that is there", async () => {
    const { call } = await connected();
    await revoke("logins");
    expect(await call()).toEqual(ANSWER);
    const { grants, registered, errors } = await seen();
    expect(grants).toEqual(["authorization_code", "authorization_code"]);
    expect(registered).toBe(1);
    expect(errors).toHaveLength(1);
  }, PATIENCE_MS);

  test("client credentials by a secret that has to be escaped", async () => {
    const { call } = await connected({
      clientId: "by-secret",
      grant: { type: "client_credentials", clientSecret: "a secret: +/%&=" },
    });
    expect(await call()).toEqual(ANSWER);
    expect(await seen()).toEqual({ grants: ["client_credentials"], registered: 0, bound: 0, errors: [] });
  }, PATIENCE_MS);

  test("client credentials by a signed assertion, again once they are void", async () => {
    const { call } = await connected({
      clientId: "by-key",
      grant: { type: "client_credentials", privateKey: { pem: keys.privateKey, algorithm: "ES256" } },
    });
    await revoke("access");
    expect(await call()).toEqual(ANSWER);
    expect(await seen()).toEqual({
      grants: ["client_credentials", "client_credentials"],
      registered: 0,
      bound: 0,
      errors: [],
    });
  }, PATIENCE_MS);

  test("a token bound to a key is proved, with the nonces that the server wants", async () => {
    const scene = await connected({ dpop: true });
    expect(await scene.call()).toEqual(ANSWER);
    await revoke("access");
    expect(await scene.call()).toEqual(ANSWER);
    const { grants, bound, errors } = await seen();
    expect(grants).toEqual(["authorization_code", "refresh_token"]);
    expect(bound).toBe(2);
    expect(errors).toEqual([expect.stringContaining("nonce is required")]);
  }, PATIENCE_MS);
});
