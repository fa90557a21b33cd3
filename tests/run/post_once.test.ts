import { once } from "node:events";
import { createServer as createWebServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { runtimeHere } from "./adapter.ts";

/**
 * Some runtimes send a request again by themselves when a connection that was kept open breaks. For the server that is a
 * second call, and nobody is told.
 */
test("a POST on a kept connection that breaks reaches the server once", async () => {
  let calls = 0;
  let open: Socket[] = [];
  const server = createServer((socket) => {
    open.push(socket);
    let text = "";
    socket.on("error", () => {/* the client resets what was closed under it */});
    socket.on("data", (bytes: Uint8Array) => {
      text += new TextDecoder().decode(bytes);
      if (!text.endsWith("}")) return;
      if (text.includes("call")) {
        calls++;
        return void socket.destroy();
      }
      text = "";
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { fetch } = await runtimeHere();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const post = async (body: string): Promise<string> =>
      await (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).text();
    expect(await post(`{"method":"list"}`)).toBe("{}");
    await expect(post(`{"method":"call"}`)).rejects.toThrow();
    // What would be sent again arrives before an answer to this.
    expect(await post(`{"method":"list"}`)).toBe("{}");
    expect(calls).toBe(1);
  } finally {
    for (const socket of open) socket.destroy();
    open = [];
    server.close();
  }
});

test.each([["a short text", "ä€😀"], ["a long text", "ä€😀x".repeat(100_000)]])(
  "%s is posted whole, and its length is said before",
  async (_, text) => {
    const server = createWebServer((request, response) => {
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("end", () => {
        response.setHeader("x-length", String(request.headers["content-length"]));
        response.end(Buffer.concat(chunks));
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const { fetch } = await runtimeHere();
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const headers = { "content-type": "text/plain;charset=utf-8", connection: "close" };
      const response = await fetch(url, { method: "POST", headers, body: text });
      expect(await response.text()).toBe(text);
      expect(response.headers.get("x-length")).toBe(String(new TextEncoder().encode(text).byteLength));
    } finally {
      server.close();
      server.closeAllConnections();
    }
  },
);
