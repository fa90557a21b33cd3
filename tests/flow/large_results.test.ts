import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createHost } from "../../src/host.ts";
import type { HostOptions } from "../../src/host_options.ts";
import type { Host } from "../../src/host_owner.ts";
import { randomIds } from "../../src/kernel/ids.ts";
import type { Session } from "../../src/session/session.ts";
import type { ServerConfigInput } from "../../src/servers/config_input.ts";
import type { ArtifactStore } from "../../src/store/artifacts.ts";
import { fileArtifacts } from "../../src/store/file_artifacts.ts";
import { memoryArtifacts } from "../../src/store/memory_artifacts.ts";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { programHere, runtimeHere } from "../run/adapter.ts";
import { makeDirectory } from "../run/here.ts";

const runtime = await runtimeHere();
const [command, ...before] = programHere;
const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

const children: ChildProcess[] = [];
const hosts: Host[] = [];

async function startHttp(...flags: string[]): Promise<string> {
  const child = spawn(command, [...before, fixture("large_http.mjs"), ...flags], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  for await (const url of createInterface({ input: child.stdout! })) return url;
  throw new Error("Server ended before it said where it is");
}

const SERVERS: readonly [name: string, ServerConfigInput][] = [
  ["stdio", { name: "large", command, args: [...before, fixture("large_stdio.mjs")], inheritEnv: "all" }],
  ["HTTP, JSON body", { name: "large", url: await startHttp() }],
  ["HTTP, server-sent event", { name: "large", url: await startHttp("--sse") }],
];

afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

afterAll(async () => {
  for (const child of children.splice(0)) {
    const exit = once(child, "exit");
    child.kill();
    await exit;
  }
});

async function files(): Promise<ArtifactStore> {
  const directory = join(await makeDirectory(), "artifacts");
  return fileArtifacts({ files: runtime.files!, directory, ids: randomIds, sha256: runtime.sha256! });
}

async function open(server: ServerConfigInput, options: Partial<HostOptions> = {}): Promise<Session> {
  const host = await createHost({
    runtime,
    servers: [{ ...server, required: true }],
    permission: { rules: [{ tool: "mcp.large.*", decision: "allow" }] },
    ...options,
  });
  hosts.push(host);
  return await host.session({ id: "s" });
}

const call = (session: Session, args: Record<string, unknown>): ReturnType<Session["tool"]> =>
  session.tool("mcp.large.large", args, { timeoutMs: 60_000 });

const events = async (): Promise<readonly { type: string; payload: Record<string, unknown> }[]> =>
  await hosts[0]!.readEvents({ stream: "session:s", limit: 100 }) as never;

/** The text that the fixture makes of a unit. */
function textOf(unit: string, bytes: number): string {
  const block = unit.repeat(Math.ceil((256 << 10) / Buffer.byteLength(unit)));
  return block.repeat(Math.ceil(bytes / Buffer.byteLength(block)));
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

describe.each(SERVERS)("large results over %s", (_name, server) => {
  test("become artifacts, and the log tells their size and where they are", async () => {
    const session = await open(server, { artifacts: await files() });
    const whole = textOf("Grüße, 世界 🌍 ", 5 << 20);
    const outcome = await call(session, { bytes: 5 << 20, unit: "Grüße, 世界 🌍 " });
    const bytes = Buffer.byteLength(whole);
    const artifact = { sha256: sha256(whole), bytes, mediaType: "text/plain" };
    expect(outcome).toMatchObject({ status: "completed", isError: false, truncated: true, artifact });
    expect(outcome.output.startsWith(whole.slice(0, 10_000))).toBe(true);
    expect(outcome.output.endsWith(whole.slice(-1000))).toBe(true);
    expect(outcome.output).toContain(`bytes left out, whole text in artifact ${artifact.sha256} ...]`);
    expect(outcome.content).toEqual([{ type: "text", text: outcome.output }]);
    const log = await events();
    expect(log.map(({ type }) => type).slice(-3)).toEqual([
      "artifact.stored",
      "mcp.call.completed",
      "tool.completed",
    ]);
    expect(log.at(-3)!.payload).toMatchObject({ sha256: artifact.sha256, bytes });
    const { resultPreview, ...told } = log.at(-1)!.payload;
    expect(told).toMatchObject({ resultSize: bytes, truncated: true, artifact });
    expect(Buffer.byteLength(resultPreview as string)).toBeLessThanOrEqual(4096);
    expect((await call(session, { bytes: 0 })).output).toBe("");
  });

  test("are scrubbed while they arrive", async () => {
    const artifacts = memoryArtifacts();
    const secret = "a-very-secret-value";
    const session = await open(server, { artifacts, secrets: [{ label: "key", value: secret }] });
    // Written in another way, or the gate would refuse the arguments.
    const unit = `say ${secret.replace("a", "\\u0061")} aloud; `;
    const outcome = await call(session, { bytes: 3 << 20, unit });
    expect(outcome.status).toBe("completed");
    const kept = new TextDecoder().decode(await artifacts.read(outcome.artifact!.sha256));
    const marker = /\[redacted:key#\d+\]/.exec(kept)![0];
    const shown = [kept, outcome.output, JSON.stringify((await events()).at(-1))];
    expect(shown.map((text) => [text.includes(marker), text.includes("secret-value")])).toEqual(
      shown.map(() => [true, false]),
    );
    expect(kept === textOf(unit, 3 << 20).replaceAll(secret.replace("a", "\\u0061"), marker)).toBe(true);
  });

  test("are shown without an artifact when there is no room for one", async () => {
    const errors: unknown[] = [];
    const artifacts = memoryArtifacts({ maxTotalBytes: 1 << 20 });
    const session = await open(server, { artifacts, onError: (error) => void errors.push(error) });
    const outcome = await call(session, { bytes: 3 << 20 });
    expect(outcome).toMatchObject({ status: "completed", truncated: true });
    expect(outcome.artifact).toBe(undefined);
    expect(outcome.output).toMatch(/bytes left out \.\.\.\]/);
    expect(errors).toMatchObject([{ code: "ERR_TOO_LARGE" }]);
  });

  test("over what one artifact may have fail as too large, and the server goes on", async () => {
    const session = await open(server, { artifacts: memoryArtifacts() });
    expect(await call(session, { bytes: 66 << 20 })).toMatchObject({
      status: "failed",
      error: { reason: "too_large" },
    });
    expect(await call(session, { bytes: 1000 })).toMatchObject({ status: "completed" });
  });

  test("that are bombs are refused, and the server goes on", async () => {
    const session = await open(server);
    expect(await call(session, { bomb: 4 << 20 })).toMatchObject({ status: "failed", error: { reason: "too_large" } });
    expect(await call(session, { bytes: 1000 })).toMatchObject({ status: "completed" });
  });

  test("take little memory, whatever their size", async () => {
    const session = await open(server, { artifacts: await files() });
    await call(session, { bytes: 2 << 20, kind: "escapes" });
    const growth = await peakGrowth(async () => {
      expect((await call(session, { bytes: 48 << 20, kind: "escapes" })).status).toBe("completed");
    });
    // Three MiB at most on Node, Bun and Deno. Held whole, it would be there at least twice, as bytes and as text.
    expect(growth).toBeLessThan(16 << 20);
  }, 180_000);

  test("of very many short strings become an artifact as a whole, scrubbed", async () => {
    const artifacts = await files();
    const secret = "a-very-secret-value";
    const session = await open(server, { artifacts, secrets: [{ label: "key", value: secret }] });
    const unit = "say \\u0061-very-secret-value aloud, and go on about something else; ";
    const outcome = await call(session, { items: 9 << 20, unit });
    expect(outcome).toMatchObject({ status: "completed", isError: true, truncated: true });
    const artifact = outcome.artifact!;
    const kept = new TextDecoder().decode(await artifacts.read(artifact.sha256));
    const marker = /\[redacted:key#\d+\]/.exec(kept)![0];
    const item = unit.replace("\\u0061-very-secret-value", marker);
    const items = new Array(5000 * Math.ceil((9 << 20) / (5000 * (unit.length + 3))) + 1).fill(item);
    const whole = { content: [{ type: "text", text: item }], structuredContent: { items }, isError: true };
    expect(kept === JSON.stringify(whole)).toBe(true);
    expect(artifact).toMatchObject({ mediaType: "application/json", bytes: kept.length });
    expect(outcome.content).toEqual([{ type: "text", text: outcome.output }]);
    expect(outcome.output).toContain(`bytes left out, whole text in artifact ${artifact.sha256} ...]`);
    expect(JSON.stringify((await events()).at(-1))).not.toContain("secret-value");
  });

  test("of very many short strings take no more memory than what may stay of a message", async () => {
    const session = await open(server, { artifacts: await files() });
    await call(session, { items: 9 << 20 });
    const growth = await peakGrowth(async () => {
      expect((await call(session, { items: 32 << 20 })).artifact?.bytes).toBeGreaterThan(32 << 20);
    }, 200);
    // Nine MiB on Node, Bun and Deno. Twice 8 MiB: while it is handed over it is there in both places. Held whole, it
    // would be there as bytes and as text.
    expect(growth).toBeLessThan(24 << 20);
  }, 180_000);

  test("take turns where there is little memory for messages", async () => {
    const artifacts = await files();
    const session = await open(server, { artifacts, maxFrameBytes: 4 << 20 });
    const calls = Array.from({ length: 6 }, () => call(session, { bytes: 3 << 20 }));
    const outcomes = await Promise.all(calls);
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => "completed"));
  });

  test.each([0, 2 << 20])("keep integers exact, in short answers and in long ones (%i bytes)", async (bytes) => {
    const session = await open(server, { artifacts: await files() });
    const structured = '{"id":18446744073709551615,"list":[-9007199254740993,1.5,7]}';
    const outcome = await call(session, { bytes, structured });
    expect(outcome.structuredContent).toEqual({ id: 18446744073709551615n, list: [-9007199254740993n, 1.5, 7] });
  });

  test("of a call that is given up are let go of", async () => {
    const artifacts = memoryArtifacts({ maxTotalBytes: 8 << 20 });
    const session = await open(server, { artifacts });
    const controller = new AbortController();
    const given = session.tool("mcp.large.large", { bytes: 6 << 20 }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    expect(["cancelled", "completed"]).toContain((await given).status);
    // What was begun for it is gone: the store has room for as much again.
    if ((await given).status === "completed") return;
    await expect.poll(async () => (await call(session, { bytes: 6 << 20, kind: "escapes" })).artifact?.bytes)
      .toBeGreaterThan(5 << 20);
  });
});
