/** An echo server over Streamable HTTP, with a session in the legacy era. Prints its URL; ends when its input ends. */
import { createServer } from "node:http";
import process from "node:process";
import { answer } from "./echo_answers.mjs";

const server = createServer((request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => body += chunk);
  request.on("end", () => {
    const message = JSON.parse(body);
    const text = answer(message);
    if (text === undefined) return response.writeHead(202).end();
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    if (message.method === "initialize") headers["mcp-session-id"] = "bench-session";
    response.writeHead(200, headers).end(text);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.on("end", () => process.exit(0)).resume();
