import type { CallOutcome, CliHost, CliSession, OpenHost, ServerRow, ToolRow } from "../../../src/cli/host_port.ts";
import { runCommandLine } from "../../../src/cli/main.ts";
import type { Choose, Terminal } from "../../../src/cli/terminal.ts";
import type { HostEvent } from "../../../src/events/event.ts";
import type { Runtime } from "../../../src/kernel/runtime.ts";
import { MemoryFiles } from "../../fixtures/memory_files.ts";

/** A terminal that keeps what is written to it. */
export interface FakeTerminal extends Terminal {
  readonly written: { out: string; err: string };
  interrupt(): void;
}

export interface FakeTerminalOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly isTerminal?: boolean;
  readonly columns?: number;
  readonly choose?: Choose;
  readonly runtime?: Runtime;
}

export function fakeTerminal(args: readonly string[], options: FakeTerminalOptions = {}): FakeTerminal {
  const { files = {}, env = {}, isTerminal = false, columns, choose } = options;
  const written = { out: "", err: "" };
  const interruption = new AbortController();
  const output = (key: "out" | "err") => ({
    isTerminal,
    columns,
    write: (text: string): void => void (written[key] += text),
  });
  return {
    runtime: options.runtime ?? fakeRuntime(files, env),
    args,
    out: output("out"),
    err: output("err"),
    choose,
    interrupted: interruption.signal,
    written,
    interrupt: () => interruption.abort(),
  };
}

function fakeRuntime(contents: Readonly<Record<string, string>>, env: Readonly<Record<string, string>>): Runtime {
  const files = new MemoryFiles();
  for (const [path, text] of Object.entries(contents)) files.put(path, text);
  return {
    name: "fake",
    version: "1",
    fetch: () => Promise.reject(new Error("no network")),
    contentLengthIsDecoded: true,
    files,
    environment: () => ({ ...env }),
  };
}

/** What a fake host is made of. */
export interface FakeHostOptions {
  readonly servers?: readonly ServerRow[];
  readonly tools?: readonly (ToolRow & { readonly qualified: string })[];
  /** Answers calls; may ask the approver. */
  readonly answer?: (tool: string, args: unknown, asked: () => Promise<unknown>) => Promise<Partial<CallOutcome>>;
  readonly events?: readonly HostEvent[];
  readonly ready?: CliHost["ready"];
  readonly resources?: Partial<CliSession["resources"]>;
  readonly prompts?: Partial<CliSession["prompts"]>;
}

/** A host without servers, and what it was opened with and asked for. */
export interface FakeHost {
  readonly open: OpenHost;
  readonly seen: { opened: Parameters<OpenHost>[0][]; calls: unknown[][]; closed: number };
}

export function fakeHost(options: FakeHostOptions = {}): FakeHost {
  const { servers = [], tools = [], answer, events = [] } = options;
  const seen: FakeHost["seen"] = { opened: [], calls: [], closed: 0 };
  const open: OpenHost = (request) => {
    seen.opened.push(request);
    const session: CliSession = {
      toolNames: () => tools.map(({ qualified }) => qualified),
      toolDefinitions: () => tools.map(({ qualified: _, ...definition }) => definition),
      async tool(name, args, callOptions) {
        seen.calls.push([name, args, callOptions.onAsk]);
        const ask = async (): Promise<unknown> =>
          await request.approve?.({
            requestId: "req_1",
            session: "s",
            tool: name,
            risk: "network",
            by: "caller",
            args,
            requestedAt: 0,
            expiresAt: 1,
          }, callOptions.signal);
        const outcome = await answer?.(name, args, ask);
        return { status: "completed", output: "", isError: false, durationMs: 1, ...outcome };
      },
      events: () => noEvents(),
      resources: {
        list: () => Promise.resolve([]),
        templates: () => Promise.resolve([]),
        include: () => Promise.reject(new Error("no resource")),
        ...options.resources,
      },
      prompts: {
        list: () => Promise.resolve([]),
        invoke: () => Promise.reject(new Error("no prompt")),
        ...options.prompts,
      },
    };
    const host: CliHost = {
      ready: options.ready ?? (() => Promise.resolve()),
      globalMcpStatus: () => servers,
      session: () => Promise.resolve(session),
      events: ({ after, signal }) => replay(events.filter(({ seq }) => seq > after), signal),
      close: () => {
        seen.closed++;
        return Promise.resolve();
      },
    };
    return Promise.resolve(host);
  };
  return { open, seen };
}

async function* noEvents(): AsyncGenerator<HostEvent, void> {}

/** The events, then silence until the signal fires. */
async function* replay(events: readonly HostEvent[], signal: AbortSignal): AsyncGenerator<HostEvent, void> {
  yield* events;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** Runs the command line and gives back all that it said. */
export async function run(
  args: readonly string[],
  terminalOptions: FakeTerminalOptions = {},
  hostOptions: FakeHostOptions = {},
): Promise<{ code: number; out: string; err: string; seen: FakeHost["seen"] }> {
  const terminal = fakeTerminal(args, terminalOptions);
  const host = fakeHost(hostOptions);
  const code = await runCommandLine(terminal, host.open);
  return { code, ...terminal.written, seen: host.seen };
}

export function event(
  seq: number,
  type: string,
  payload: Record<string, unknown>,
  more: Partial<HostEvent> = {},
): HostEvent {
  return {
    v: 1,
    seq,
    id: `evt_${seq}`,
    at: 1_764_500_000_000 + seq,
    stream: "session:s_1",
    epoch: 1,
    type,
    payload,
    ...more,
  };
}
