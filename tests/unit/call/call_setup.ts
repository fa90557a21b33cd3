import { createLocalTools, type LocalTool } from "../../../src/catalog/local_tool.ts";
import type { HostAsks } from "../../../src/call/host_asks.ts";
import { Executor } from "../../../src/call/executor.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { createDesk } from "../../../src/permission/desk.ts";
import { createGate } from "../../../src/permission/gate.ts";
import { compilePolicy, type PermissionConfig } from "../../../src/permission/policy.ts";
import type { Approve, Gate } from "../../../src/permission/request.ts";
import { ServerManager } from "../../../src/servers/manager.ts";
import { exponentialBackoff } from "../../../src/servers/restart_policy.ts";
import { Slots } from "../../../src/servers/slots.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { FakeConnect } from "../../fixtures/fake_client.ts";
import { FakeSink } from "../../fixtures/fake_log.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";

export const ALLOW_ALL: PermissionConfig = { rules: [{ decision: "allow", name: "all" }] };

export interface CallSceneOptions {
  readonly permission?: PermissionConfig;
  readonly approve?: Approve;
  readonly localTools?: readonly LocalTool[];
  readonly gate?: Gate;
  readonly server?: object;
  readonly asks?: HostAsks;
}

/** One session over one server "echo" (tools: echo, delete_all) that is ready and that the test leads by hand. */
export async function callScene(options: CallSceneOptions = {}) {
  const clock = new FakeClock();
  const connect = new FakeConnect();
  connect.tools = ["echo", "delete_all"];
  const hostSink = new FakeSink("host:test");
  const sink = new FakeSink("session:s");
  const scrubber = plainScrubber("hunter2hunter2");
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const ids = countingIds();
  const artifacts = memoryArtifacts();
  const manager = new ServerManager({
    source: "global",
    append: hostSink.append,
    connect: connect.connect,
    dial: () => ({
      dialer: { kind: "pipe", name: "stdio", key: "k", dial: () => Promise.reject(new Error("unused")) },
      sandbox: {},
      containment: () => "none",
    }),
    clock,
    scrubber,
    secrets: new SecretRegistry(),
    policy: exponentialBackoff(() => 0.5),
    slots: new Slots(8),
    onError,
  });
  const desk = createDesk({ kv: memoryKeyValue(), clock, scrubber, pollMs: 0 });
  const gate = options.gate ?? createGate({
    policy: compilePolicy(options.permission ?? ALLOW_ALL),
    desk,
    ...(options.approve === undefined ? {} : { approve: options.approve }),
    clock,
    ids,
    scrubber,
  });
  const executor = new Executor({
    session: "s",
    stream: "session:s",
    view: { sources: [manager], localTools: createLocalTools(options.localTools ?? []) },
    append: sink.append,
    gate,
    desk,
    ids,
    clock,
    scrubber,
    onAsk: options.approve === undefined ? "deny" : "wait",
    output: { scrubber, artifacts, previewBytes: 4096, maxOutputBytes: 65_536, onError, clock },
    onError,
    ...(options.asks === undefined ? {} : {
      asks: {
        handlers: options.asks,
        holdsSecret: (answer) => scrubber.value(answer) !== answer,
      },
    }),
  });
  connect.onConnect = (dialling) => dialling.succeed();
  await manager.add({ name: "echo", command: "echo", ...options.server });
  return { clock, connect, hostSink, sink, errors, manager, desk, executor, artifacts };
}

export type CallScene = Awaited<ReturnType<typeof callScene>>;

/** Each started event must have exactly one closing one. */
export function unbalanced(sink: FakeSink): string[] {
  const open = new Map<string, number>();
  const count = (key: string, by: number): void => void open.set(key, (open.get(key) ?? 0) + by);
  for (const { type, payload } of sink.events) {
    const id = String(payload["toolCallId"]);
    if (type === "tool.started") count(`tool ${id}`, 1);
    if (type === "mcp.call.started") count(`call ${id}`, 1);
    if (type === "mcp.call.completed" || type === "mcp.call.failed") count(`call ${id}`, -1);
    if (/^tool\.(completed|failed|cancelled)$/.test(type) && open.has(`tool ${id}`)) count(`tool ${id}`, -1);
  }
  return [...open].filter(([, value]) => value !== 0).map(([key]) => key);
}
