/** The official client, as its own documentation uses it. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Caller, CLIENT_INFO, MODERN_VERSION, type Target } from "../contestant.ts";

export async function open({ transport, era, script, url }: Target): Promise<Caller> {
  const mode = era === "modern" ? { pin: MODERN_VERSION } : "legacy";
  const client = new Client(CLIENT_INFO, { versionNegotiation: { mode } });
  await client.connect(
    transport === "stdio"
      ? new StdioClientTransport({ command: "node", args: [script], stderr: "ignore" })
      : new StreamableHTTPClientTransport(new URL(url)),
  );
  return {
    async call(message) {
      const { content } = await client.callTool({ name: "echo", arguments: { message } });
      const block = content[0];
      return block?.type === "text" ? block.text : undefined;
    },
    close: () => client.close(),
  };
}
