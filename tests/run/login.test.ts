import { describe, expect, it } from "vitest";
import { loopbackLogin } from "../../runtimes/node/mod.ts";
import { until } from "../fixtures/settle.ts";
import { title } from "./here.ts";

const signal = new AbortController().signal;
const asked = (state = "s1"): URL => new URL(`https://as.test/authorize?state=${state}`);

/** A port that nobody listens at, as of now. */
async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const get = async (url: string): Promise<[status: number, text: string]> => {
  const answer = await fetch(url);
  return [answer.status, await answer.text()];
};

describe(`loopback login on ${title}`, () => {
  it("is where its redirect address says, for as long as it takes, and hands on what comes back whole", async () => {
    const shown: URL[] = [];
    const login = loopbackLogin({ port: await freePort(), show: (url) => void shown.push(url) });
    await expect(fetch(login.redirectUri)).rejects.toThrow();
    for (const round of ["1", "2"]) {
      const back = login.open({ url: asked(), signal });
      await until(() => shown.length === Number(round));
      expect(shown.at(-1)!.href).toBe(asked().href);
      const address = `${login.redirectUri}?code=c%20${round}&state=s1&iss=https%3A%2F%2Fas.test`;
      expect(await get(address)).toEqual([200, expect.stringContaining("come to its end")]);
      expect(await back).toBe(address);
    }
    await expect(fetch(login.redirectUri)).rejects.toThrow();
  });

  it("takes no answer to another login, and shows nothing of it", async () => {
    let isShown = false;
    const login = loopbackLogin({ port: await freePort(), show: () => void (isShown = true) });
    const back = login.open({ url: asked(), signal });
    await until(() => isShown);
    const { redirectUri } = login;
    for (
      const wrong of [
        redirectUri,
        `${redirectUri}?code=c&state=s2`,
        `${redirectUri}/?state=s1`,
        `${redirectUri}?code=<b>`,
      ]
    ) {
      expect(await get(wrong)).toEqual([404, ""]);
    }
    const answer = await fetch(`${redirectUri}?state=s1`, { method: "POST" });
    await answer.body?.cancel();
    expect(answer.status).toBe(404);
    await get(`${redirectUri}?error=access_denied&state=s1`);
    expect(await back).toContain("error=access_denied");
  });

  it("ends with its caller, with an address that cannot be shown, and where its port is taken", async () => {
    const port = await freePort();
    const controller = new AbortController();
    let shown = 0;
    const login = loopbackLogin({ port, show: () => void shown++ });
    const given = login.open({ url: asked(), signal: controller.signal });
    await until(() => shown === 1);
    await expect(login.open({ url: asked(), signal })).rejects.toMatchObject({
      code: "ERR_AUTH_FAILED",
      message: expect.stringContaining(String(port)),
    });
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    await expect(login.open({ url: asked(), signal: controller.signal })).rejects.toMatchObject({
      code: "ERR_AUTH_FAILED",
    });
    const mute = loopbackLogin({ port, show: () => Promise.reject(new Error("no display")) });
    await expect(mute.open({ url: asked(), signal })).rejects.toMatchObject({ cause: { message: "no display" } });
    await expect(fetch(login.redirectUri)).rejects.toThrow();
  });
});
