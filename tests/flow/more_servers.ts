import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RealServer, scratch, serversDirectory } from "./real_servers.ts";

/**
 * Servers that are too large together for every clone: installed with a manifest of their own, and without their install
 * scripts, which fetch browsers and count installations. An empty package stands there for what claude-mermaid draws with,
 * which is 400 MB, and for a native part of pdf-reader-mcp that it does without and that cannot always be had.
 */
export const moreDirectory: string = join(serversDirectory, "more");

export const installed = (...parts: string[]): string => join(moreDirectory, "node_modules", ...parts);
const bin = (name: string): string => installed(".bin", name);
const file = (name: string): string => join(scratch, name);

/** Nobody listens there: what would ask a service on the network fails at once, and stays on this machine. */
const NOWHERE = "http://127.0.0.1:9";

/** What two of the servers drive. Undefined where there is none. */
export const chromium: string | undefined = spawnSync("which", ["chromium"], { encoding: "utf8" }).stdout?.trim() ||
  undefined;
export const browser: string = chromium ?? "chromium";

export const playwrightArgs: readonly string[] = [
  "--headless",
  "--no-sandbox",
  "--isolated",
  "--executable-path",
  browser,
];

/** The user's home that they see. */
export const home: string = file("home");
/** What the host says they may work in. */
export const workplace: string = file("files");

/** Writes the files that some of the servers are started with. */
export function writeFiles(): void {
  mkdirSync(home);
  mkdirSync(workplace);
  mkdirSync(file("claude/projects"), { recursive: true });
  const tag = (name: string, inside: string, rest = ""): string => `<${name}${rest}>${inside}</${name}>`;
  const page = tag("diagram", tag("mxGraphModel", tag("root", '<mxCell id="0"/>')), ' id="a" name="Ground floor"');
  writeFileSync(file("plan.drawio"), tag("mxfile", page));
  const responses = { 200: { description: "found" } };
  const id = { name: "id", in: "path", required: true, schema: { type: "string" } };
  writeFileSync(
    file("pets.json"),
    JSON.stringify({
      openapi: "3.0.0",
      info: { title: "Pets", version: "1" },
      paths: {
        "/pets": { get: { operationId: "listPets", responses } },
        "/pets/{id}": { get: { operationId: "getPet", parameters: [id], responses } },
      },
    }),
  );
}

/** They run in a folder of their own and take it for their user's home, since some write there. */
export const moreServers: readonly RealServer[] = [
  {
    name: "thinking",
    package: installed("@modelcontextprotocol/server-sequential-thinking"),
    made: "TypeScript, SDK v1; coloured boxes on standard error",
    command: bin("mcp-server-sequential-thinking"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 1,
    call: {
      tool: "sequentialthinking",
      args: { thought: "why", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      text: /thoughtHistoryLength/,
    },
  },
  {
    name: "react",
    package: installed("@modelcontextprotocol/server-basic-react"),
    made: "TypeScript, SDK v2",
    command: bin("mcp-server-basic-react"),
    args: ["--stdio"],
    protocolVersion: "2025-11-25",
    tools: 1,
    resources: 1,
    call: { tool: "get-time", args: {}, text: /\d{4}-\d\d/ },
  },
  {
    name: "playwright",
    package: installed("@playwright/mcp"),
    made: "TypeScript, SDK bundled; starts a browser",
    command: bin("playwright-mcp"),
    args: playwrightArgs,
    protocolVersion: "2025-11-25",
    tools: 25,
    callNeeds: "chromium",
    killed: { tool: "browser_wait_for", args: { time: 30 } },
    call: { tool: "browser_navigate", args: { url: "data:text/html,<title>gate</title>" }, text: /Page Title: gate/ },
  },
  {
    name: "devtools",
    package: installed("chrome-devtools-mcp"),
    made: "TypeScript, SDK bundled; starts a browser",
    command: bin("chrome-devtools-mcp"),
    // Two processes of its own, for statistics and updates, leave its group and speak to its makers.
    args: ["--headless", "--executablePath", browser, "--chromeArg=--no-sandbox", "--no-usage-statistics"],
    env: { CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: "1" },
    protocolVersion: "2025-11-25",
    tools: 32,
    callNeeds: "chromium",
    call: { tool: "list_pages", args: {}, text: /about:blank/ },
  },
  {
    name: "ccusage",
    package: installed("@ccusage/mcp"),
    made: "TypeScript, SDK v1; prints a banner on standard output",
    command: bin("ccusage-mcp"),
    args: [],
    env: { CLAUDE_CONFIG_DIR: file("claude") },
    protocolVersion: "2025-11-25",
    tools: 6,
    warnings: ["noise"],
    call: { tool: "daily", args: {}, text: /totals/ },
  },
  {
    name: "boilerplate",
    package: installed("@aashari/boilerplate-mcp-server"),
    made: "TypeScript, SDK v1; prints a tip on standard output",
    command: bin("mcp-server"),
    args: [],
    env: { TRANSPORT_MODE: "stdio" },
    protocolVersion: "2025-11-25",
    tools: 2,
    resources: 2,
    templates: 1,
    prompts: 1,
    warnings: ["noise"],
    call: { tool: "ip_get_details", args: { ipAddress: "127.0.0.1" }, text: /./ },
  },
  {
    name: "pdf",
    package: installed("@sylphx/pdf-reader-mcp"),
    made: "TypeScript, a kit of its own",
    command: bin("pdf-reader-mcp"),
    args: [],
    protocolVersion: "2025-03-26",
    pins: ["2025-03-26"],
    tools: 1,
    call: { tool: "read_pdf", args: { sources: [{ path: "none.pdf" }] }, text: /File not found/ },
  },
  {
    name: "eslint",
    package: installed("@eslint/mcp"),
    made: "TypeScript, SDK v1",
    // Its command is called "mcp", as that of another package here.
    command: "node",
    args: [installed("@eslint/mcp", "src", "mcp-cli.js")],
    protocolVersion: "2025-11-25",
    tools: 1,
    call: { tool: "lint-files", args: { filePaths: [file("none.js")] }, text: /No files matching/ },
  },
  {
    name: "fastfiles",
    package: installed("fast-filesystem-mcp"),
    made: "TypeScript, SDK v1",
    command: bin("fast-filesystem-mcp"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 25,
    call: { tool: "fast_list_allowed_directories", args: {}, text: /allowed_directories/ },
  },
  {
    name: "git",
    package: installed("@cyanheads/git-mcp-server"),
    made: "TypeScript, a kit of its own; a log on standard error",
    command: bin("git-mcp-server"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 28,
    resources: 1,
    templates: 1,
    prompts: 1,
    call: { tool: "git_wrapup_instructions", args: { acknowledgement: "Y" }, text: /instructions/ },
  },
  {
    name: "commander",
    package: installed("@wonderwhy-er/desktop-commander"),
    made: "TypeScript, SDK v1; sends its log unasked",
    command: bin("desktop-commander"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 26,
    resources: 2,
    killed: { tool: "start_process", args: { command: "sleep 60", timeout_ms: 60_000 } },
    call: { tool: "list_searches", args: {}, text: /No active searches/ },
  },
  {
    name: "drawio",
    package: installed("@drawio/mcp"),
    made: "JavaScript, SDK v1; a description of 34 KB",
    command: bin("drawio-mcp"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 7,
    call: { tool: "list_pages", args: { path: file("plan.drawio") }, text: /Ground floor/ },
  },
  {
    name: "codegraph",
    package: installed("@colbymchenry/codegraph-linux-x64"),
    made: "TypeScript with a runtime of its own; leaves processes of its group behind",
    command: installed("@colbymchenry/codegraph-linux-x64", "bin", "codegraph"),
    args: ["serve", "--mcp"],
    protocolVersion: "2024-11-05",
    pins: ["2024-11-05"],
    tools: 1,
    killed: "between calls",
    call: { tool: "codegraph_explore", args: { query: "gate", projectPath: scratch }, text: /indexed/ },
  },
  {
    name: "azure",
    package: installed("@azure/mcp-linux-x64"),
    made: "C#, the official kit",
    command: bin("azmcp-linux-x64"),
    args: ["server", "start"],
    env: { AZURE_MCP_COLLECT_TELEMETRY: "false" },
    protocolVersion: "2025-11-25",
    tools: 61,
    killed: "between calls",
    call: { tool: "get_azure_bestpractices", args: { intent: "learn", learn: true }, text: /best practices/ },
  },
  {
    name: "tasks",
    package: installed("@kazuph/mcp-taskmanager"),
    made: "TypeScript, SDK v1",
    command: bin("mcp-taskmanager"),
    args: [],
    env: { TASK_MANAGER_FILE_PATH: file("tasks.json") },
    protocolVersion: "2025-11-25",
    tools: 10,
    call: { tool: "list_requests", args: {}, text: /requests_listed/ },
  },
  {
    name: "hello",
    package: installed("mcp-hello-world"),
    made: "TypeScript, SDK v1; prints a line on standard output for each call",
    command: bin("mcp-hello-world"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 3,
    resources: 1,
    templates: 1,
    prompts: 1,
    warnings: ["noise"],
    killed: "between calls",
    call: { tool: "add", args: { a: 2, b: 3 }, text: /The sum is: 5/ },
  },
  {
    name: "thinking_tools",
    package: installed("mcp-sequentialthinking-tools"),
    made: "TypeScript, SDK v1 of June 2025",
    command: bin("mcp-sequentialthinking-tools"),
    args: [],
    protocolVersion: "2025-06-18",
    tools: 1,
    call: {
      tool: "sequentialthinking_tools",
      args: {
        available_mcp_tools: ["none"],
        thought: "why",
        next_thought_needed: false,
        thought_number: 1,
        total_thoughts: 1,
      },
      text: /thought_history_length/,
    },
  },
  {
    name: "openapi",
    package: installed("@ivotoby/openapi-mcp-server"),
    made: "TypeScript, SDK v1; tools from a file",
    command: bin("openapi-mcp-server"),
    args: ["--api-base-url", NOWHERE, "--openapi-spec", file("pets.json")],
    protocolVersion: "2025-11-25",
    tools: 2,
    call: { tool: "lst-pets", args: {}, text: /./ },
  },
  {
    name: "echarts",
    package: installed("mcp-echarts"),
    made: "TypeScript, SDK v1; answers with pictures",
    command: bin("mcp-echarts"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 18,
    call: {
      tool: "generate_bar_chart",
      args: { data: [{ category: "a", value: 1 }, { category: "b", value: 2 }] },
      text: /image/,
    },
  },
  {
    name: "mermaid",
    package: installed("claude-mermaid"),
    made: "TypeScript, SDK v1; installed without what it draws with",
    command: bin("claude-mermaid"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 2,
    call: {
      tool: "mermaid_save",
      args: { save_path: file("none.svg"), preview_id: "none" },
      text: /Error saving diagram/,
    },
  },
  {
    name: "brightdata",
    package: installed("@brightdata/mcp"),
    made: "JavaScript, fastmcp; no answer to the first request",
    command: "node",
    args: [installed("@brightdata/mcp", "server.js")],
    env: { API_TOKEN: "dummy" },
    protocolVersion: "2025-11-25",
    tools: 5,
    prompts: 2,
    call: { tool: "search_engine", args: { query: "gate" }, text: /search_engine/ },
  },
  {
    name: "firecrawl",
    package: installed("firecrawl-mcp"),
    made: "TypeScript, a fork of fastmcp",
    command: bin("firecrawl-mcp"),
    args: [],
    env: { FIRECRAWL_API_KEY: "dummy", FIRECRAWL_API_URL: NOWHERE },
    protocolVersion: "2025-06-18",
    tools: 26,
    call: { tool: "firecrawl_check_crawl_status", args: { id: "none" }, text: /ECONNREFUSED/ },
  },
  {
    name: "mastra",
    package: installed("@mastra/mcp-docs-server"),
    made: "TypeScript, @mastra/mcp; sends its log unasked",
    command: "node",
    args: [installed("@mastra/mcp-docs-server", "dist", "stdio.js")],
    protocolVersion: "2025-11-25",
    tools: 9,
    call: { tool: "mastraExamples", args: {}, text: /agent/ },
  },
];
