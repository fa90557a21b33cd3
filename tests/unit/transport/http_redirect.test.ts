import { describe, expect, test } from "vitest";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { sseDialer } from "../../../src/transport/endpoint_sse.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { followRedirects } from "../../../src/transport/http_redirect.ts";
import { scriptedFetch } from "./scripted_fetch.ts";

const ORIGIN = "https://mcp.test";
const init = (): RequestInit => ({
  method: "POST",
  headers: { authorization: "Bearer x" },
  body: "{}",
  signal: new AbortController().signal,
});
const to = (location: string | undefined, status = 307): Response =>
  new Response(null, { status, headers: location === undefined ? {} : { location } });

describe("address of a server", () => {
  const clock = new FakeClock();

  test.each([
    ["no URL", "not a url"],
    ["a path", "/mcp"],
    ["nothing", ""],
    ["a scheme without a host", "https://"],
    ["a file", "file:///etc/hosts"],
    ["another scheme", "ws://secret@mcp.test/"],
  ])("dialers refuse %s at once, and do not quote it", (_what, url) => {
    for (const dial of [httpDialer, sseDialer]) {
      expect(() => dial({ url, fetch: () => Promise.reject(new Error("sent")), clock })).toThrow(
        expect.objectContaining({
          code: "ERR_INVALID_ARGUMENTS",
          message: "Cannot reach the server: found no url of https: or http:",
        }),
      );
    }
  });

  test.each(["HTTPS://mcp.test", "http://127.0.0.1:3001/mcp?x=1"])("dialers take %s", (url) => {
    expect(httpDialer({ url, fetch, clock }).kind).toBe("web");
  });
});

describe("redirect", () => {
  const followed: [claim: string, location: string, status: number, url: string][] = [
    ["307 to a path (FR-28)", "/mcp/", 307, `${ORIGIN}/mcp/`],
    ["308 with the whole address (FR-28)", `${ORIGIN}/v2`, 308, `${ORIGIN}/v2`],
    ["307 to a relative path", "next?x=1", 307, `${ORIGIN}/a/next?x=1`],
    ["307 with the default port written out", `${ORIGIN}:443/x`, 307, `${ORIGIN}/x`],
  ];
  test.each(followed)(
    "%s is followed with method, headers and body, and remembered",
    async (_claim, location, status, url) => {
      const target = { url: `${ORIGIN}/a/mcp` };
      const { fetch, requests } = scriptedFetch((request) =>
        request.url === url ? new Response("ok") : to(location, status)
      );
      expect(await (await followRedirects(fetch, target, init())).text()).toBe("ok");
      expect(requests[1]).toMatchObject({ url, method: "POST", headers: { authorization: "Bearer x" }, body: "{}" });
      expect(target.url).toBe(url);
    },
  );

  const refused: [claim: string, location: string | undefined, status: number][] = [
    ["another origin (A-43)", "https://evil.test/mcp", 307],
    ["the metadata address (A-43)", "http://169.254.169.254/", 307],
    ["http, down from https (A-43)", "http://mcp.test/a/mcp", 308],
    ["another port", `${ORIGIN}:8443/a/mcp`, 307],
    ["another origin without its scheme", "//evil.test/mcp", 307],
    ["another origin behind credentials", "https://mcp.test@evil.test/", 307],
    ["the same origin with a user in it", "https://user:pw@mcp.test/a/mcp", 307],
    ["the same origin with a password in it", "https://:pw@mcp.test/a/mcp", 308],
    ["a file", "file:///etc/passwd", 307],
    ["a script", "javascript:alert(1)", 307],
    ["nothing", undefined, 307],
    ["no address", "https://", 307],
    ["the same origin, but by 301", "/mcp/", 301],
    ["the same origin, but by 302", "/mcp/", 302],
    ["the same origin, but by 303", "/mcp/", 303],
    ["a choice", "/mcp/", 300],
    ["what has not changed", undefined, 304],
  ];
  test.each(refused)(
    "to %s is refused with an error that says so; nobody else is asked",
    async (_claim, location, status) => {
      const target = { url: `${ORIGIN}/a/mcp` };
      const { fetch, requests } = scriptedFetch(() => to(location, status));
      await expect(followRedirects(fetch, target, init())).rejects.toMatchObject({
        code: "ERR_PROTOCOL",
        facts: { status },
        message: expect.stringContaining(`found status ${status}`),
      });
      expect(requests).toHaveLength(1);
      expect(target.url).toBe(`${ORIGIN}/a/mcp`);
    },
  );

  test("in a loop ends after five hops, and is not remembered", async () => {
    const target = { url: `${ORIGIN}/a` };
    const { fetch, requests } = scriptedFetch((request) => to(request.url.endsWith("/a") ? "/b" : "/a"));
    await expect(followRedirects(fetch, target, init())).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
    expect(requests).toHaveLength(6);
    expect(target.url).toBe(`${ORIGIN}/a`);
  });

  test("message names the target without its query, which may hold a secret", async () => {
    const { fetch } = scriptedFetch(() => to("https://evil.test/mcp?code=secret"));
    const error = await followRedirects(fetch, { url: ORIGIN }, init()).catch((cause: Error) => cause);
    expect(String(error)).toContain("https://evil.test/mcp,");
    expect(String(error)).not.toContain("secret");
  });

  test("of one request does not bend the way of another under way", async () => {
    const target = { url: `${ORIGIN}/a/mcp` };
    let release = (_response: Response): void => {};
    const slow = scriptedFetch((request) =>
      request.url.endsWith("/a/mcp") ? new Promise<Response>((resolve) => release = resolve) : new Response(request.url)
    );
    const first = followRedirects(slow.fetch, target, init());
    await followRedirects(
      scriptedFetch((request) => request.url.endsWith("/a/mcp") ? to("/b/c/mcp") : new Response()).fetch,
      target,
      init(),
    );
    release(to("next"));
    expect(await (await first).text()).toBe(`${ORIGIN}/a/next`);
  });
});
