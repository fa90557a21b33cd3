import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** How much a server lists. */
export interface Offered {
  readonly tools: number;
  /** What else. Default 0. */
  readonly resources?: number;
  readonly templates?: number;
  readonly prompts?: number;
}

/** A server by another maker, and what it is known to offer to a client that declares nothing. */
export interface RealServer extends Offered {
  readonly name: string;
  /** The package in whose `package.json` its version stands. */
  readonly package: string;
  readonly made: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly protocolVersion: string;
  /** Revisions that it speaks when it is held to them. Default {@link PINS}. */
  readonly pins?: readonly string[];
  /** Tools for a client that declares roots, if that makes a difference. */
  readonly toolsWithRoots?: number;
  /** What is odd about it and shows as a warning: kinds of `mcp.server.warning`. */
  readonly warnings?: readonly string[];
  /** Where there is none of these programs it is reached and listed, and not called. */
  readonly callNeeds?: string;
  /** It is killed between calls, or while it works on this one, and comes back. Default: it is not. */
  readonly killed?: "between calls" | { readonly tool: string; readonly args: Readonly<Record<string, unknown>> };
  /** One harmless call and what its text must hold. */
  readonly call: {
    readonly tool: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly text: RegExp;
    /** Default `completed`. */
    readonly status?: "failed";
  };
}

/** What most servers agree to. */
export const PINS: readonly string[] = ["2025-06-18"];

export const root: string = fileURLToPath(new URL("../../", import.meta.url));
/** Where the servers with a manifest of their own are installed. */
export const serversDirectory: string = join(root, "tests", "servers");

const ours = (...parts: string[]): string => join(root, "node_modules", ...parts);
const theirs = (...parts: string[]): string => join(serversDirectory, "node_modules", ...parts);
/** Where the servers keep their files; whoever runs them removes it. */
export const scratch: string = mkdtempSync(join(tmpdir(), "portcullis-flow-"));

/** Those that `npm start` speaks to: installed with the project itself. */
export const startServers: readonly RealServer[] = [
  {
    name: "everything",
    package: ours("@modelcontextprotocol/server-everything"),
    made: "TypeScript, SDK v1",
    command: ours(".bin", "mcp-server-everything"),
    args: ["stdio"],
    protocolVersion: "2025-11-25",
    tools: 13,
    toolsWithRoots: 14,
    resources: 7,
    templates: 2,
    prompts: 4,
    killed: { tool: "trigger-long-running-operation", args: { duration: 60, steps: 60 } },
    call: { tool: "echo", args: { message: "over the gate" }, text: /over the gate/ },
  },
  {
    name: "files",
    package: ours("@modelcontextprotocol/server-filesystem"),
    made: "TypeScript, SDK v1",
    command: ours(".bin", "mcp-server-filesystem"),
    args: [join(root, "examples", "files")],
    protocolVersion: "2025-11-25",
    tools: 14,
    killed: "between calls",
    call: { tool: "list_allowed_directories", args: {}, text: /files/ },
  },
  {
    name: "context7",
    package: ours("@upstash/context7-mcp"),
    made: "TypeScript, SDK v2",
    command: ours(".bin", "context7-mcp"),
    args: [],
    protocolVersion: "2026-07-28",
    tools: 2,
    pins: ["2025-11-25", ...PINS],
    call: { tool: "resolve-library-id", args: { libraryName: "hono", query: "routing" }, text: /./ },
  },
];

/** Further ones, in other languages and kits; some exist for one platform only. */
export const otherServers: readonly RealServer[] = [
  {
    name: "memory",
    package: theirs("@modelcontextprotocol/server-memory"),
    made: "TypeScript, SDK v1",
    command: theirs(".bin", "mcp-server-memory"),
    args: [],
    env: { MEMORY_FILE_PATH: join(scratch, "memory.jsonl") },
    protocolVersion: "2025-11-25",
    tools: 9,
    resources: 1,
    call: { tool: "read_graph", args: {}, text: /entities/ },
  },
  {
    name: "libsql",
    package: theirs("mcp-memory-libsql"),
    made: "TypeScript, tmcp",
    command: theirs(".bin", "mcp-memory-libsql"),
    args: [],
    env: { LIBSQL_URL: `file:${join(scratch, "memory.db")}` },
    protocolVersion: "2026-07-28",
    tools: 6,
    call: { tool: "read_graph", args: {}, text: /entities|\[\]|\{/ },
  },
  {
    name: "mantine",
    package: theirs("@mantine/mcp-server"),
    made: "JavaScript, no kit",
    command: "node",
    args: [theirs("@mantine/mcp-server", "bin", "mcp-server.cjs")],
    protocolVersion: "2024-11-05",
    tools: 4,
    pins: ["2024-11-05"],
    call: { tool: "list_items", args: {}, text: /./ },
  },
  {
    name: "leanspec",
    package: theirs("@leanspec/mcp-linux-x64"),
    made: "Rust, no kit; answers notifications",
    command: theirs("@leanspec/mcp-linux-x64", "leanspec-mcp"),
    args: [],
    protocolVersion: "2024-11-05",
    tools: 11,
    pins: ["2024-11-05"],
    killed: "between calls",
    warnings: ["malformed"],
    call: { tool: "get_capabilities", args: {}, text: /./ },
  },
  {
    name: "time",
    package: theirs("mcp-time-linux-x64"),
    made: "Go, mcp-go",
    command: theirs("mcp-time-linux-x64", "bin", "mcp-time"),
    args: [],
    protocolVersion: "2025-03-26",
    tools: 5,
    pins: ["2025-03-26"],
    killed: "between calls",
    call: { tool: "current_time", args: {}, text: /\d{4}/ },
  },
  {
    name: "calc",
    package: theirs("@coo-quack/calc-mcp"),
    made: "TypeScript, SDK v1",
    command: theirs(".bin", "calc-mcp"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 21,
    call: { tool: "math", args: { expression: "6*7" }, text: /42/ },
  },
  {
    name: "clock",
    package: theirs("time-mcp"),
    made: "TypeScript, SDK v1; prints a line on standard output",
    command: theirs(".bin", "time-mcp"),
    args: [],
    protocolVersion: "2025-11-25",
    tools: 6,
    warnings: ["noise"],
    call: { tool: "current_time", args: { format: "YYYY-MM-DD", timezone: "UTC" }, text: /\d{4}/ },
  },
  {
    name: "excel",
    package: theirs("@negokaz/excel-mcp-server"),
    made: "Go, mcp-go behind a Node launcher",
    command: theirs(".bin", "excel-mcp-server"),
    args: [],
    protocolVersion: "2025-03-26",
    tools: 6,
    // Its refusal is a JSON-RPC error, which is a call that failed and not a result.
    pins: ["2025-03-26"],
    killed: "between calls",
    call: {
      tool: "excel_describe_sheets",
      args: { fileAbsolutePath: join(scratch, "none.xlsx") },
      text: /no such file/,
      status: "failed",
    },
  },
];
