import type { LogLevel } from "../protocol/request_meta.ts";
import type { Risk } from "../permission/request.ts";

/** `transport` of a server that is a child process. */
export interface StdioTransportInput {
  readonly type: "stdio";
  /** Found through `PATH`; never read by a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly inheritEnv?: "base" | "all" | "none" | undefined;
}

/** `transport` of a server behind HTTP. `streamable-http` is another word for `http`. */
export interface HttpTransportInput {
  readonly type: "http" | "streamable-http" | "sse";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * HTTP with SSE: what a proxy takes away from the path of the address for messages, such as `/mcp`, so that it has to be
   * put back. Default: nothing.
   */
  readonly endpointPrefix?: string | undefined;
}

/**
 * A server as a user writes it: `transport` nested, or the flat shape of other hosts (`command`, `args`, `env` or `url`,
 * `headers`). Times are milliseconds unless their name says seconds. Unknown keys are errors.
 */
export interface ServerConfigInput {
  /** 1 to 32 of `[A-Za-z0-9_-]`, no `__`, no `_` at its end. Part of every tool name: `mcp.<name>.<tool>`. */
  readonly name: string;
  readonly transport?: StdioTransportInput | HttpTransportInput | undefined;
  readonly type?: "stdio" | "http" | "streamable-http" | "sse" | undefined;
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  /** Variables of a child process; may also stand beside a nested `transport`. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** What a child inherits beside `env`: a short list of harmless variables (`base`, the default), all, or nothing. */
  readonly inheritEnv?: "base" | "all" | "none" | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default true. A disabled server is kept and shown, and never started. */
  readonly enabled?: boolean | undefined;
  /** Silence after which a call fails. Default 60,000. The next four are other spellings of it. */
  readonly timeoutMs?: number | undefined;
  readonly timeout_ms?: number | undefined;
  readonly toolTimeoutMs?: number | undefined;
  readonly toolTimeoutSecs?: number | undefined;
  readonly tool_timeout_secs?: number | undefined;
  /** Total after which a call fails whatever progress it reports. Default 600,000, or `timeoutMs` if that is longer. */
  readonly maxTotalMs?: number | undefined;
  /** Budget from the start to the first list of tools. Default 30,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Silence after which a server is taken not to know the newer handshake. Default 3,000. */
  readonly probeTimeoutMs?: number | undefined;
  /** What a child is given between the request to end and the kill. Default 5,000. */
  readonly stopGraceMs?: number | undefined;
  readonly restart?: {
    /** Default true. False: one crash is final. */
    readonly auto?: boolean | undefined;
    /** Restarts in a row before the server is given up. Default 3. */
    readonly maxRestarts?: number | undefined;
    /** Delay of the first restart; doubles with each. Default 500. */
    readonly baseMs?: number | undefined;
    /** Longest delay. Default 10,000. */
    readonly capMs?: number | undefined;
    /** Health after which crashes no longer count as in a row. Default 60,000. */
    readonly resetAfterMs?: number | undefined;
  } | undefined;
  /** Default `none`. `bearer` takes a `token`; the others need a part that is handed to the host. */
  readonly auth?: { readonly type: AuthType; readonly [key: string]: unknown } | undefined;
  /** Another spelling of `auth: { type: "oauth", ... }`. */
  readonly oauth?: Readonly<Record<string, unknown>> | null | undefined;
  readonly tools?: {
    /** Patterns of the server's own tool names that are offered; `*` stands for any run. Default all. */
    readonly allow?: readonly string[] | undefined;
    /** Patterns that are not offered; stronger than `allow`. */
    readonly deny?: readonly string[] | undefined;
    /**
     * What a tool may do, by its own name. Default `network`. Its server's hints and a telling name add `destructive` to
     * it, and such a call is asked about whatever a rule allows.
     */
    readonly risk?: Readonly<Record<string, Risk>> | undefined;
  } | undefined;
  /** Lets this server's own hints lower the risk of its tools. Default false. */
  readonly trustAnnotations?: boolean | undefined;
  /** What happens to a tool whose definition changes: asked again (default), blocked, or taken as it is. */
  readonly onToolChange?: "ask" | "block" | "allow" | undefined;
  readonly sandbox?: Readonly<Record<string, unknown>> | undefined;
  /** Idle time after which the server is disconnected by itself. Default: never. */
  readonly idleMs?: number | undefined;
  /**
   * How often a server without calls is asked whether it is there; one that gives no answer at all is started again.
   * Default: never.
   */
  readonly pingMs?: number | undefined;
  /**
   * The least grave log messages that the server is asked for and that become `mcp.log`. Default: it is not asked, and
   * what it sends from `warning` up is kept.
   */
  readonly logLevel?: LogLevel | undefined;
  /** What a call does after an idle disconnect: fail (`never`, the default) or start the server again (`lazy`). */
  readonly reconnect?: "never" | "lazy" | undefined;
  readonly protocol?: {
    /** Speak this protocol revision and no other. */
    readonly pin?: string | undefined;
  } | undefined;
  /** The host does not open unless this server becomes ready. Default false. */
  readonly required?: boolean | undefined;
}

/** How a server wants to know who calls. */
export type AuthType = "none" | "bearer" | "oauth" | "client_credentials" | "mtls";
