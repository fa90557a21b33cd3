import { join } from "node:path";
import { chromium, installed, playwrightArgs } from "./more_servers.ts";
import { type Offered, root, scratch } from "./real_servers.ts";

/** A server by another maker that listens on a port, and what it is known to offer. */
export interface HttpServer extends Offered {
  readonly name: string;
  readonly package: string;
  /** How it is started to listen on this port. */
  readonly start: (port: string) => {
    readonly command: string;
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  readonly type: "http" | "sse";
  readonly path: string;
  readonly protocolVersion: string;
  /** Revisions that it speaks when it is held to them. Default: what most do. */
  readonly pins?: readonly string[];
  /** Absent: it is not called. */
  readonly call?: {
    readonly tool: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly text: RegExp;
  };
  /** It cannot be reached: what its state must say. */
  readonly unusable?: RegExp;
}

const everything = join(root, "node_modules", ".bin", "mcp-server-everything");
const hello = { tool: "add", args: { a: 2, b: 3 }, text: /The sum is: 5/ };
const echo = { tool: "echo", args: { message: "over the gate" }, text: /over the gate/ };

export const httpServers: readonly HttpServer[] = [
  {
    name: "everything_http",
    package: join(root, "node_modules", "@modelcontextprotocol/server-everything"),
    start: (port) => ({ command: everything, args: ["streamableHttp"], env: { PORT: port } }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2025-11-25",
    tools: 13,
    resources: 7,
    templates: 2,
    prompts: 4,
    call: echo,
  },
  {
    name: "everything_sse",
    package: join(root, "node_modules", "@modelcontextprotocol/server-everything"),
    start: (port) => ({ command: everything, args: ["sse"], env: { PORT: port } }),
    type: "sse",
    path: "/sse",
    protocolVersion: "2025-11-25",
    tools: 13,
    resources: 7,
    templates: 2,
    prompts: 4,
    call: echo,
  },
  {
    name: "react_http",
    package: installed("@modelcontextprotocol/server-basic-react"),
    start: (port) => ({ command: installed(".bin", "mcp-server-basic-react"), args: [], env: { PORT: port } }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2025-11-25",
    tools: 1,
    resources: 1,
    call: { tool: "get-time", args: {}, text: /\d{4}-\d\d/ },
  },
  {
    name: "context7_http",
    package: join(root, "node_modules", "@upstash/context7-mcp"),
    start: (port) => ({
      command: join(root, "node_modules", ".bin", "context7-mcp"),
      args: ["--transport", "http", "--port", port],
    }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2026-07-28",
    tools: 2,
    call: { tool: "resolve-library-id", args: { libraryName: "hono", query: "routing" }, text: /./ },
  },
  {
    name: "proxy_http",
    package: installed("mcp-proxy"),
    start: (port) => ({
      command: installed(".bin", "mcp-proxy"),
      args: ["--port", port, "--", installed(".bin", "mcp-hello-world")],
    }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2026-07-28",
    tools: 3,
    resources: 1,
    templates: 1,
    prompts: 1,
    call: hello,
  },
  {
    name: "proxy_sse",
    package: installed("mcp-proxy"),
    start: (port) => ({
      command: installed(".bin", "mcp-proxy"),
      args: ["--port", port, "--", installed(".bin", "mcp-hello-world")],
    }),
    type: "sse",
    path: "/sse",
    protocolVersion: "2025-11-25",
    tools: 3,
    resources: 1,
    templates: 1,
    prompts: 1,
    call: hello,
  },
  {
    name: "gateway_http",
    package: installed("supergateway"),
    start: (port) => ({
      command: installed(".bin", "supergateway"),
      args: [
        "--stdio",
        installed(".bin", "mcp-hello-world"),
        "--outputTransport",
        "streamableHttp",
        "--stateful",
        "--port",
        port,
      ],
    }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2025-11-25",
    tools: 3,
    resources: 1,
    templates: 1,
    prompts: 1,
    call: hello,
  },
  {
    name: "playwright_http",
    package: installed("@playwright/mcp"),
    start: (port) => ({ command: installed(".bin", "playwright-mcp"), args: [...playwrightArgs, "--port", port] }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2025-11-25",
    tools: 25,
    ...(chromium === undefined ? {} : {
      call: { tool: "browser_navigate", args: { url: "data:text/html,<title>gate</title>" }, text: /Page Title: gate/ },
    }),
  },
  {
    name: "boilerplate_http",
    package: installed("@aashari/boilerplate-mcp-server"),
    start: (port) => ({
      command: installed(".bin", "mcp-server"),
      args: [],
      env: { TRANSPORT_MODE: "http", PORT: port },
    }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2025-11-25",
    tools: 2,
    resources: 2,
    templates: 1,
    prompts: 1,
    call: { tool: "ip_get_details", args: { ipAddress: "127.0.0.1" }, text: /./ },
  },
  {
    name: "git_http",
    package: installed("@cyanheads/git-mcp-server"),
    start: (port) => ({
      command: installed(".bin", "git-mcp-server"),
      args: [],
      env: { MCP_TRANSPORT_TYPE: "http", MCP_HTTP_PORT: port },
    }),
    type: "http",
    path: "/mcp",
    protocolVersion: "2025-11-25",
    tools: 28,
    resources: 1,
    templates: 1,
    prompts: 1,
    call: { tool: "git_wrapup_instructions", args: { acknowledgement: "Y" }, text: /instructions/ },
  },
  {
    // It answers one request, whatever it is, and 500 to all others: no client can speak to it.
    name: "ccusage_http",
    package: installed("@ccusage/mcp"),
    start: (port) => ({
      command: installed(".bin", "ccusage-mcp"),
      args: ["--type", "http", "--port", port],
      env: { CLAUDE_CONFIG_DIR: join(scratch, "claude") },
    }),
    type: "http",
    path: "/",
    protocolVersion: "2025-11-25",
    pins: [],
    tools: 0,
    unusable: /500/,
  },
];
