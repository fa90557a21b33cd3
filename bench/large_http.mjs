/**
 * A server over Streamable HTTP whose one tool answers with as much text as it is asked for, as JSON or (`--sse`) as an
 * event. Prints its URL; ends with its standard input.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import process from "node:process";
import { largeAnswer } from "./large_answers.mjs";

const sse = process.argv.includes("--sse");
const TOOL = { name: "large", inputSchema: { type: "object" } };

const server = createServer(async (request, response) => {
  let text = "";
  for await (const part of request) text += part;
  const { id, method, params } = request.method === "POST" ? JSON.parse(text) : {};
  if (request.method !== "POST") return response.writeHead(405).end();
  if (id === undefined) return response.writeHead(202).end();
  if (method === "tools/call") {
    response.writeHead(200, { "content-type": sse ? "text/event-stream" : "application/json" });
    if (sse) response.write("data: ");
    for (const part of largeAnswer(id, params.arguments)) {
      if (!response.write(part)) await once(response, "drain");
    }
    return response.end(sse ? "\n\n" : "");
  }
  const result = method === "initialize"
    ? {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "large", version: "1" },
    }
    : method === "tools/list"
    ? { tools: [TOOL] }
    : undefined;
  const body = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().on("end", () => process.exit());
