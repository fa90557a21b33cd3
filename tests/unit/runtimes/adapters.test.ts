import { afterEach, describe, expect, test, vi } from "vitest";
import { bunRuntime } from "../../../runtimes/bun/mod.ts";
import { nodeRuntime } from "../../../runtimes/node/mod.ts";
import { workerdRuntime } from "../../../runtimes/workerd/mod.ts";
import type { FetchFunction } from "../../../src/kernel/runtime.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("adapter", () => {
  const own: FetchFunction = () => Promise.resolve(new Response("own"));

  test.each([["node", nodeRuntime], ["bun", bunRuntime], ["workerd", workerdRuntime]])(
    "of %s takes another fetch",
    async (_name, makeRuntime) => {
      expect(await (await makeRuntime({ fetch: own }).fetch("http://never.test/")).text()).toBe("own");
    },
  );

  test("calls the global fetch without a receiver, whatever it was taken from: FR-75", async () => {
    const receivers: unknown[] = [];
    vi.stubGlobal("fetch", function (this: unknown) {
      receivers.push(this);
      return Promise.resolve(new Response("global"));
    });
    for (const runtime of [nodeRuntime(), bunRuntime(), workerdRuntime()]) {
      await runtime.fetch("http://never.test/");
      expect(receivers.pop()).toBeUndefined();
    }
  });
});

describe("node adapter", () => {
  test("names a port that fetch blocks, which comes without a code", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed", { cause: new Error("bad port") })));
    await expect(nodeRuntime().fetch("http://user:word@127.0.0.1:6000/mcp")).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED_HERE",
      message: "Cannot send a request to 127.0.0.1:6000: fetch blocks this port; let the server listen on another one",
    });
  });

  test("leaves other failures of fetch as they are", async () => {
    const failure = new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) });
    vi.stubGlobal("fetch", () => Promise.reject(failure));
    await expect(nodeRuntime().fetch("http://127.0.0.1:6000/mcp")).rejects.toBe(failure);
  });
});

describe("workerd adapter", () => {
  const inBrowser = (): void => void vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0 (X11; Linux) Chrome/140" });
  const inWorkerd = (): void => void vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });

  test("trusts content-length in workerd and not in a browser, which hides content-encoding", () => {
    inWorkerd();
    expect(workerdRuntime()).toMatchObject({ name: "workerd", contentLengthIsDecoded: true });
    inBrowser();
    expect(workerdRuntime()).toMatchObject({ name: "browser", contentLengthIsDecoded: false });
  });

  test("takes the caller's word about content-length", () => {
    inWorkerd();
    expect(workerdRuntime({ contentLengthIsDecoded: false }).contentLengthIsDecoded).toBe(false);
    inBrowser();
    expect(workerdRuntime({ contentLengthIsDecoded: true }).contentLengthIsDecoded).toBe(true);
  });

  test("offers no processes and no files, also beside nodejs_compat", () => {
    inWorkerd();
    const runtime = workerdRuntime();
    expect([runtime.spawn, runtime.files, runtime.sha256]).toEqual([undefined, undefined, undefined]);
  });

  test("shows the texts among its bindings as the environment", () => {
    inWorkerd();
    const bindings = { API_URL: "https://api.test", BUCKET: { put: () => {} }, COUNT: 3 };
    expect(workerdRuntime({ bindings }).environment()).toEqual({ API_URL: "https://api.test" });
    expect(workerdRuntime().environment()).toEqual({});
  });
});
