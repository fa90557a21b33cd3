import type { Risk } from "../permission/request.ts";

/** A server over a child process's standard input and output. */
export interface StdioTransportConfig {
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** Laid over the base environment. */
  readonly env: Readonly<Record<string, string>>;
  /** `base` (default): PATH, HOME, LANG and their like. `all`: the host's whole environment. `none`: only `env`. */
  readonly inheritEnv: "base" | "all" | "none";
  readonly cwd?: string;
}

/** A server over Streamable HTTP, or the older HTTP with SSE. */
export interface HttpTransportConfig {
  readonly type: "http" | "sse";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What to do when a server crashes. See the restart policy. */
export interface RestartConfig {
  readonly auto: boolean;
  readonly maxRestarts: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly resetAfterMs: number;
}

/** One server as the host uses it: validated, with every default filled in. */
export interface ServerConfig {
  readonly name: string;
  readonly transport: StdioTransportConfig | HttpTransportConfig;
  readonly enabled: boolean;
  /** Silence after which a call fails, ms; progress starts it again. */
  readonly timeoutMs: number;
  /** Total after which a call fails, ms. */
  readonly maxTotalMs: number;
  readonly startTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly restart: RestartConfig;
  readonly auth: { readonly type: string; readonly [key: string]: unknown };
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[]; readonly risk: Readonly<Record<string, Risk>> };
  readonly trustAnnotations: boolean;
  readonly onToolChange: "ask" | "block" | "allow";
  readonly sandbox?: Readonly<Record<string, unknown>>;
  readonly idleMs?: number;
  readonly reconnect: "never" | "lazy";
  /** Speak this protocol revision and no other. */
  readonly pin?: string;
  readonly required: boolean;
}
