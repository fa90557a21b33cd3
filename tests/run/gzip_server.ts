import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll } from "vitest";

/** A loopback server, closed after the test file, that answers a small gzip body of 100 KB of zeros. */
export async function gzipServer(): Promise<string> {
  const body = gzipSync(new Uint8Array(100_000));
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-length": body.length }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
