/**
 * The floor: what the same exchange costs without any client. stdio is a child process, split and JSON.parse; HTTP is
 * fetch and json(). Nothing is checked, bounded, timed or cancellable.
 */
import { spawn } from "node:child_process";
import { type Caller, CLIENT_INFO, LEGACY_VERSION, MODERN_VERSION, type Target } from "../contestant.ts";

interface Answer {
  readonly id: number;
  readonly result: { readonly content: readonly { readonly text: string }[] };
}

export function open(target: Target): Promise<Caller> {
  return openRaw(target, false);
}

/** `detached`: the server leads a session of its own. */
export function openRaw(target: Target, detached: boolean): Promise<Caller> {
  return target.transport === "stdio" ? openPipe(target, detached) : openWeb(target);
}

const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
  "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
  "io.modelcontextprotocol/clientCapabilities": {},
};

function echoRequest(id: number, message: string, era: Target["era"]): string {
  const params = { name: "echo", arguments: { message } };
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: era === "modern" ? { ...params, _meta: META } : params,
  });
}

const INITIALIZE = { protocolVersion: LEGACY_VERSION, capabilities: {}, clientInfo: CLIENT_INFO };
const INITIALIZED = `{"jsonrpc":"2.0","method":"notifications/initialized"}`;

async function openPipe({ era, script }: Target, detached: boolean): Promise<Caller> {
  const child = spawn("node", [script], { stdio: ["pipe", "pipe", "ignore"], detached });
  const pending = new Map<number, (answer: Answer) => void>();
  let nextId = 1;
  let partial = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk: string) => {
    const lines = (partial + chunk).split("\n");
    partial = lines.pop()!;
    for (const line of lines) {
      const answer = JSON.parse(line) as Answer;
      const settle = pending.get(answer.id)!;
      pending.delete(answer.id);
      settle(answer);
    }
  });
  const exchange = (id: number, text: string): Promise<Answer> =>
    new Promise((resolve) => {
      pending.set(id, resolve);
      child.stdin.write(`${text}\n`);
    });
  if (era === "legacy") {
    await exchange(0, JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE }));
    child.stdin.write(`${INITIALIZED}\n`);
  }
  return {
    async call(message) {
      const id = nextId++;
      return (await exchange(id, echoRequest(id, message, era))).result.content[0]?.text;
    },
    close() {
      const closed = new Promise<void>((resolve) => child.once("exit", () => resolve()));
      child.stdin.end();
      return closed;
    },
  };
}

async function openWeb({ era, url }: Target): Promise<Caller> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": era === "modern" ? MODERN_VERSION : LEGACY_VERSION,
  };
  const post = (body: string): Promise<Response> => fetch(url, { method: "POST", headers, body });
  if (era === "modern") {
    Object.assign(headers, { "mcp-method": "tools/call", "mcp-name": "echo" });
  } else {
    const response = await post(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE }));
    await response.text();
    headers["mcp-session-id"] = response.headers.get("mcp-session-id")!;
    await (await post(INITIALIZED)).text();
  }
  let nextId = 1;
  return {
    async call(message) {
      const response = await post(echoRequest(nextId++, message, era));
      return (await response.json() as Answer).result.content[0]?.text;
    },
    close: () => Promise.resolve(),
  };
}
