/** The answers of the echo servers: as little work as an MCP server can do, so that a client under test is the slower side. */
const MODERN = "2026-07-28";
const ECHO = {
  name: "echo",
  description: "Gives its message back.",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
};

/** The text of the answer to one message, or undefined for a notification. */
export function answer(message) {
  if (message.id === undefined) return undefined;
  const { method, params } = message;
  const modern = params?._meta?.["io.modelcontextprotocol/protocolVersion"] !== undefined;
  const type = modern ? '"resultType":"complete",' : "";
  const result = method === "tools/call"
    ? `{${type}"content":[{"type":"text","text":${JSON.stringify(params.arguments.message)}}]}`
    : JSON.stringify(slowAnswer(method, params, modern));
  return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${result}}`;
}

function slowAnswer(method, params, modern) {
  const lasting = modern ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "echo", version: "1.0.0" },
      };
    case "server/discover":
      return { ...lasting, supportedVersions: [MODERN], capabilities: { tools: {} } };
    case "tools/list":
      return { ...lasting, tools: [ECHO] };
    default:
      return {};
  }
}
