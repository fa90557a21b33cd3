import { passesFilter, spellingsOf, type ToolFilter } from "../catalog/filter.ts";
import { type ToolDefinitions, toolDefinitions, type ToolFormat } from "../catalog/formats.ts";
import { type ListedTool, listTools } from "../catalog/listing.ts";
import type { CheckedLocalTool } from "../catalog/local_tool.ts";
import type { RoutedSource, RouterView } from "../catalog/router_view.ts";
import type { CallContext, CallOptions } from "../call/call.ts";
import { Executor } from "../call/executor.ts";
import type { Outcome } from "../call/outcome.ts";
import type { EventInput, HostEvent } from "../events/event.ts";
import type { EventLog, EventSink } from "../events/log.ts";
import type { Ids } from "../kernel/ids.ts";
import { atMost } from "../kernel/clock.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import { isThenable } from "../kernel/listener.ts";
import { checkedApproval } from "../permission/approval.ts";
import type { Desk, DeskAsk, DeskDecision } from "../permission/desk.ts";
import type { Approval, Gate } from "../permission/request.ts";
import type { ServerConfigInput } from "../servers/config_input.ts";
import type { ServerManager } from "../servers/manager.ts";
import type { Server, ServerStatus } from "../servers/server.ts";
import type { Supervisor } from "../servers/supervisor.ts";
import { endingWith } from "./ending_with.ts";
import { checkSessionId } from "./session_id.ts";
import { checkUse } from "./option_rules.ts";
import { type CompleteAnswer, SessionOffers, type SessionPrompts, type SessionResources } from "./session_offers.ts";
import type { ChildOptions, CompleteQuery, OfferListOptions } from "./session_options.ts";
import { createTurnPort, type TurnPort } from "./turn_port.ts";

/** What a log may take for the last event of a session. */
const CLOSE_MS = 5000;

/** What a host gives each of its sessions to work with. */
export interface SessionContext {
  readonly id: string;
  readonly sink: EventSink;
  readonly log: EventLog;
  /** Read-only sources, the host's own first; the session never changes them. */
  readonly inherited: readonly ServerManager[];
  /** The session's own servers; it closes them. */
  readonly manager: ServerManager;
  readonly localTools: ReadonlyMap<string, CheckedLocalTool>;
  readonly gate: Gate;
  readonly desk: Desk;
  readonly hasApprover: boolean;
  readonly call: Omit<CallContext, "append">;
  readonly ids: Ids;
  /** Hides tools from this session, as if they did not exist. Asked with the full name, or `local.<name>`. */
  readonly isVisible?: (name: string, alias?: string) => boolean;
  /** Opens a session over the given sources that sees no more than `isVisible` lets through. */
  readonly openChild: (options: ChildContext) => Promise<Session>;
  readonly onClosed: () => void;
}

/** What a session hands down to a child. */
export interface ChildContext {
  readonly id: string | undefined;
  readonly inherited: readonly ServerManager[];
  readonly isVisible: (name: string, alias?: string) => boolean;
}

/** Asks that wait for a decision, and deciding them. An ask of another session looks like one that does not exist. */
export interface SessionApprovals {
  list(): Promise<readonly DeskAsk[]>;
  /** Rejects with `ERR_ALREADY_DECIDED` for the second decision and `ERR_INVALID_ARGUMENTS` for an unknown ask. */
  resolve(requestId: string, approval: Approval): Promise<DeskDecision>;
}

/** Which tools to show. */
export interface ToolFilterOptions {
  /** Leaves out tools for which it is false. */
  readonly filter?: (tool: { readonly name: string; readonly server: string | undefined }) => boolean;
}

/**
 * One conversation of an agent: its own stream in the log, its private servers, its grants. What it sees comes from its
 * sources in order: the host's servers, managers that were handed in, its own; for the same full name the later wins.
 */
export class Session implements AsyncDisposable {
  readonly id: string;
  readonly approvals: SessionApprovals;
  readonly #context: SessionContext;
  readonly #view: RouterView<Supervisor>;
  readonly #executor: Executor;
  readonly #offers: SessionOffers;
  #closing: Promise<void> | undefined;

  constructor(context: SessionContext) {
    this.id = context.id;
    this.#context = context;
    const { sink, desk, manager, inherited, localTools } = context;
    this.#view = {
      sources: [...inherited, manager] satisfies readonly RoutedSource<Supervisor>[],
      localTools,
      ...(context.isVisible === undefined ? {} : { isVisible: context.isVisible }),
    };
    const calling = {
      ...context.call,
      gate: context.gate,
      ids: context.ids,
      session: this.id,
      stream: sink.stream,
      onAsk: context.hasApprover ? "wait" as const : "deny" as const,
      append: (events: readonly EventInput[]) => sink.append(events),
    };
    this.#executor = new Executor({ ...calling, view: this.#view as RouterView<Server>, desk });
    this.#offers = new SessionOffers(this.#view, calling);
    this.approvals = Object.freeze({
      list: () => desk.list(this.id),
      resolve: async (requestId: string, approval: Approval) =>
        await desk.resolve(requestId, { ...checkedApproval(approval), actor: "user" }, { session: this.id }),
    });
  }

  /**
   * Starts a server for this session alone and resolves with its number of tools. It is tried once: a failure throws
   * `ERR_START_FAILED`, `ERR_START_TIMEOUT`, `ERR_CONFIG`, `ERR_DUPLICATE_SERVER` or what else it failed with,
   * `ERR_SESSION_CLOSED` where the session closes meanwhile, and leaves nothing behind. From then on it is restarted like any other.
   */
  addMcp(config: ServerConfigInput): Promise<number> {
    return this.#withManager((manager) => manager.add(config));
  }

  /** Alias of {@link addMcp}. */
  addMcpServer(config: ServerConfigInput): Promise<number> {
    return this.addMcp(config);
  }

  /** Alias of {@link addMcp}. */
  addMcpServerConfig(config: ServerConfigInput): Promise<number> {
    return this.addMcp(config);
  }

  /**
   * Stops a server that this session has added, and forgets it; what it had shadowed is there again. Inherited servers
   * are never touched: for one of those, as for an unknown name, it rejects with `ERR_SERVER_NOT_FOUND`.
   */
  removeMcpServer(name: string): Promise<void> {
    return this.#withManager((manager) => manager.remove(name));
  }

  /** Alias of {@link removeMcpServer}. */
  removeMcp(name: string): Promise<void> {
    return this.removeMcpServer(name);
  }

  /** Starts a server of this session afresh, also one that was given up. Rejects with what the start failed with. */
  restartMcpServer(name: string): Promise<void> {
    return this.#withManager((manager) => manager.restart(name));
  }

  /** All servers of all sources, in the order of the sources. */
  mcpStatus(): ServerStatus[] {
    return [...this.#context.inherited, this.#context.manager].flatMap((manager) => manager.status());
  }

  /** Names of all tools that can be called: `mcp__server__tool`, or `mcp.server.tool` with `spelling: "qualified"`. */
  toolNames(options: { readonly spelling?: "alias" | "qualified" } & ToolFilterOptions = {}): string[] {
    checkUse("toolNames", options);
    const { spelling = "alias" } = options;
    return Array.from(this.#tools(options), (tool) => tool[spelling]);
  }

  /**
   * The tools as a model API takes them, default as MCP has them; names are those of {@link toolNames}. Scrubbed: a keyword
   * of a schema with a secret in it is left out. Throws `ERR_INVALID_ARGUMENTS` for a format that is none.
   */
  toolDefinitions<F extends ToolFormat = "mcp">(
    options: { readonly format?: F } & ToolFilterOptions = {},
  ): ToolDefinitions[F] {
    checkUse("toolDefinitions", options);
    const { scrubber } = this.#context.call;
    return toolDefinitions(this.#tools(options), options.format ?? ("mcp" as F), { scrubber });
  }

  /**
   * Calls a tool by its full name in either spelling, or a local one by its bare name. Every call passes the gate and is
   * in the log before anything is sent. Resolves with what became of it; throws only for misuse and after `close`.
   */
  tool(name: string, args?: unknown, options?: CallOptions): Promise<Outcome> {
    return this.#executor.call(name, args, options);
  }

  /** What the session's servers have to read. */
  get resources(): SessionResources {
    return this.#offers.resources;
  }

  /** Texts that the session's servers have to be filled in. */
  get prompts(): SessionPrompts {
    return this.#offers.prompts;
  }

  /** Values for an argument of a prompt or a variable of a template, see {@link SessionOffers.complete}. */
  complete(query: CompleteQuery, options?: OfferListOptions): Promise<CompleteAnswer> {
    return this.#offers.complete(query, options);
  }

  /** Begins a turn of a model: where its events and its calls go. `turnId` (default a fresh one) is on all of them. */
  turn(options: { readonly turnId?: string } = {}): TurnPort {
    if (this.#closing !== undefined) throw this.#closed();
    checkUse("turn", options);
    const { ids, sink } = this.#context;
    return createTurnPort(
      options.turnId ?? ids.next("t"),
      async (events) => {
        if (this.#closing !== undefined) throw this.#closed();
        return await sink.append(events);
      },
      (name, args, call) => this.tool(name, args, call),
    );
  }

  /**
   * Goes on with calls of this object that came back as `pending` and have been decided since. Gives the outcome of each,
   * of those that still wait too.
   */
  resume(): Promise<Outcome[]> {
    return this.#executor.resume();
  }

  /**
   * This session's events after `after` (default 0), then each as it is written. Ends with the last event of this session,
   * when the signal fires, and when the host closes.
   */
  events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<HostEvent> {
    checkUse("events", options);
    const { log, sink } = this.#context;
    const isLast = ({ type, epoch }: HostEvent): boolean => type === "session.closed" && epoch === sink.epoch;
    return endingWith(log.follow({ stream: sink.stream, ...options }), isLast);
  }

  /**
   * Opens a session of its own stream and its own private servers that sees what this one sees, as far as `allow` and
   * `deny` let it: servers are shared and never owned. The filter holds for every call and for children of the child.
   */
  async child(options: ChildOptions = {}): Promise<Session> {
    if (this.#closing !== undefined) throw this.#closed();
    checkUse("child", options);
    checkSessionId(options.id, "open a child session");
    const { inherited, manager, isVisible } = this.#context;
    const filter: ToolFilter = { allow: [...options.allow ?? []], deny: [...options.deny ?? []] };
    return await this.#context.openChild({
      id: options.id,
      inherited: [...inherited, manager],
      isVisible: (name, alias) => passesFilter(filter, spellingsOf(name, alias)) && isVisible?.(name, alias) !== false,
    });
  }

  /** Ends its calls and its own servers, and writes its last event. Inherited servers go on. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { manager, sink, call, onClosed } = this.#context;
    await Promise.all([this.#executor.close(), this.#offers.close()]);
    await manager.close();
    // A log that takes no more must not keep the session from ending.
    const closed = sink.close({ type: "session.closed", payload: { reason: "closed" } }).then(() => true);
    const isWritten = await atMost(call.clock, CLOSE_MS, closed).catch((error: unknown) => {
      call.onError(error);
      return true;
    });
    if (isWritten !== true) {
      const found = `the event log has not answered within ${CLOSE_MS} ms`;
      call.onError(new HostError("ERR_TIMEOUT", `Cannot write the end of session "${this.id}": ${found}`));
    }
    onClosed();
  }

  *#tools({ filter }: ToolFilterOptions): Generator<ListedTool<Supervisor>> {
    const { scrubber } = this.#context.call;
    for (const tool of listTools(this.#view)) {
      // A name with a secret in it, which may have become known after the list, can neither be shown nor be changed.
      if (tool.kind === "mcp" && scrubber.text(tool.entry.name) !== tool.entry.name) continue;
      const server = tool.kind === "mcp" ? tool.server.name : undefined;
      if (filter === undefined || passes(filter, { name: tool.qualified, server })) yield tool;
    }
  }

  /** A session that is closed, or closes meanwhile, says so and not what became of its servers. */
  async #withManager<T>(use: (manager: ServerManager) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw this.#closed();
    try {
      return await use(this.#context.manager);
    } catch (error) {
      throw isHostError(error, "ERR_CLOSED") && this.#closing !== undefined ? this.#closed() : error;
    }
  }

  #closed(): HostError {
    return new HostError("ERR_SESSION_CLOSED", `Cannot use session "${this.id}": it is closed`);
  }
}

/** A filter that answers with a promise would let everything pass. */
function passes(
  filter: NonNullable<ToolFilterOptions["filter"]>,
  tool: Parameters<NonNullable<ToolFilterOptions["filter"]>>[0],
): boolean {
  const answer: unknown = filter(tool);
  if (!isThenable(answer)) return Boolean(answer);
  Promise.resolve(answer).catch(() => {/* what comes of it is not wanted: the filter itself is refused */});
  throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot filter tools: the filter gave a promise, wanted true or false");
}
