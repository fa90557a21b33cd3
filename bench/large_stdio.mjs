/** A server over standard input and output whose one tool answers with as much text as it is asked for. */
import process from "node:process";
import { createInterface } from "node:readline";
import { largeAnswer } from "./large_answers.mjs";

const TOOL = { name: "large", inputSchema: { type: "object" } };

const write = (part) => new Promise((resolve) => process.stdout.write(part, resolve));

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method !== "tools/call") {
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
    await write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
    continue;
  }
  for (const part of largeAnswer(id, params.arguments)) await write(part);
  await write("\n");
}
