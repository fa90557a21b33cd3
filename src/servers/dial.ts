import type { TokenSource } from "../auth/token_source.ts";
import type { Clock } from "../kernel/clock.ts";
import { unsupported } from "../kernel/errors.ts";
import type { ChildProcess, FetchFunction, Runtime, SpawnFunction } from "../kernel/runtime.ts";
import type { SecretRegistry } from "../kernel/secrets.ts";
import { sseDialer } from "../transport/endpoint_sse.ts";
import { httpDialer } from "../transport/http.ts";
import type { LinkOptions } from "../transport/http_link.ts";
import type { LargeFrames } from "../transport/frames.ts";
import { stdioDialer } from "../transport/stdio.ts";
import type { Dialer } from "../transport/transport.ts";
import type { ServerConfig } from "./config.ts";
import type { HttpTransportConfig, StdioTransportConfig } from "./config_transport.ts";
import { childEnvironment } from "./environment.ts";
import { credentialsOf } from "./url_credentials.ts";

/** Knows how to prove to some servers who calls. Handed to the host, so that a bundle pays only for what it imports. */
export interface AuthPart {
  /** The `auth.type`s that it takes over. */
  readonly types: readonly string[];
  /** What the connections of one server are made with; asked once a start. Whatever it learns must never be shown. */
  authorise(config: ServerConfig, context: AuthContext): Authorised;
}

/** What an {@link AuthPart} works with. */
export interface AuthContext {
  readonly fetch: FetchFunction;
  readonly clock: Clock;
  /** Makes a credential known, so that it never shows up in logs, results or errors. */
  addSecret(label: string, value: string): void;
}

export interface Authorised {
  /** Credentials for the `authorization` header. */
  readonly tokens?: TokenSource;
  /** A fetch that shows credentials below HTTP, such as a client certificate. */
  readonly fetch?: FetchFunction;
}

/** Knows how to confine what a server starts. Handed to the host, like {@link AuthPart}. */
export interface SandboxPart {
  /** A spawn that confines what it starts. Throws `ERR_SANDBOX_UNAVAILABLE` for what cannot be enforced here. */
  confine(config: ServerConfig, spawn: SpawnFunction): SpawnFunction;
  /** What holds for this configuration, and what enforces it. */
  enforced(config: ServerConfig): Readonly<Record<string, string>>;
}

/** What a server is reached with. */
export interface DialContext {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly auth?: readonly AuthPart[];
  readonly sandbox?: SandboxPart;
  readonly secrets: SecretRegistry;
  /** How frames are read that are too long to be held. */
  readonly frames?: LargeFrames;
}

/** A way to reach one server, and what holds for whatever it starts. */
export interface Dialed {
  readonly dialer: Dialer;
  /** What is confined by what; empty for servers that are not started here. */
  readonly sandbox: Readonly<Record<string, string>>;
  /** What stopping reaches, as of the last start. */
  containment(): string;
}

/**
 * The way to reach a server. Connects to nothing. Throws `ERR_UNSUPPORTED_HERE`, which names the way out, when the
 * configuration asks for what this runtime or this host does not have.
 */
export function dialServer(config: ServerConfig, context: DialContext): Dialed {
  if (config.onToolChange === "block") {
    throw unsupported(
      `block changed tools of server "${config.name}"`,
      `leave "onToolChange" out: a tool that changes loses its grants`,
    );
  }
  return config.transport.type === "stdio"
    ? dialProcess(config, config.transport, context)
    : { dialer: dialHttp(config, config.transport, context), sandbox: {}, containment: () => "none" };
}

function dialProcess(config: ServerConfig, transport: StdioTransportConfig, context: DialContext): Dialed {
  const { runtime, clock, sandbox } = context;
  if (runtime.spawn === undefined) {
    throw unsupported(
      `start server "${config.name}" as a child process on ${runtime.name}`,
      "run it elsewhere behind Streamable HTTP and give its url",
    );
  }
  if (config.sandbox !== undefined && sandbox === undefined) {
    throw unsupported(
      `confine server "${config.name}"`,
      `this version brings no sandbox: leave "sandbox" out, or hand one of your own to the host with "sandbox"`,
    );
  }
  const spawn = sandbox === undefined ? runtime.spawn : sandbox.confine(config, runtime.spawn);
  let containment: ChildProcess["containment"] = "none";
  const dialer = stdioDialer({
    spawn: async (plan, handlers) => {
      const child = await spawn(plan, handlers);
      containment = child.containment;
      return child;
    },
    command: transport.command,
    args: transport.args,
    env: childEnvironment(transport, runtime.environment()),
    ...(transport.cwd === undefined ? {} : { cwd: transport.cwd }),
    clock,
    stopGraceMs: config.stopGraceMs,
    frames: context.frames,
  });
  const environment = transport.inheritEnv === "all" ? {} : { environment: "allow_list" };
  return { dialer, sandbox: { ...environment, ...sandbox?.enforced(config) }, containment: () => containment };
}

function dialHttp(config: ServerConfig, transport: HttpTransportConfig, context: DialContext): Dialer {
  if (config.sandbox !== undefined) {
    throw unsupported(`confine server "${config.name}", which is reached over HTTP`, `leave "sandbox" out`);
  }
  const { runtime, clock } = context;
  const { url, headers } = withoutUserinfo(transport);
  const { tokens, fetch = runtime.fetch } = authorised(config, context);
  const options: LinkOptions = {
    url,
    fetch,
    headers: config.auth.type === "bearer"
      ? { ...headers, authorization: `Bearer ${String(config.auth["token"])}` }
      : headers,
    ...(tokens === undefined ? {} : { tokens }),
    contentLengthIsDecoded: runtime.contentLengthIsDecoded,
    frames: context.frames,
    clock,
  };
  // What is said to be the older transport is not asked for the newer; the newer is often said and the older meant.
  const { endpointPrefix } = transport;
  const older = sseDialer({ ...options, ...(endpointPrefix === undefined ? {} : { endpointPrefix }) });
  return transport.type === "sse" ? older : httpDialer({ ...options, older });
}

function authorised(config: ServerConfig, { auth, runtime, clock, secrets }: DialContext): Authorised {
  const { type } = config.auth;
  const part = auth?.find((each) => each.types.includes(type));
  if (part !== undefined) {
    return part.authorise(config, {
      fetch: runtime.fetch,
      clock,
      addSecret: (label, value) => secrets.add(label, value),
    });
  }
  if (type === "none" || type === "bearer") return {};
  throw unsupported(
    `log in to server "${config.name}" with auth "${type}"`,
    type === "mtls"
      ? `this version brings none: hand a part of your own to the host with "auth"`
      : `hand oauth() of "portcullis/auth" to the host: auth: [oauth()]`,
  );
}

/** `fetch` refuses URLs with a user in them; the same user as a header is what was meant. */
function withoutUserinfo(
  transport: HttpTransportConfig,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const url = new URL(transport.url);
  const credentials = credentialsOf(url);
  if (credentials === undefined) return transport;
  url.username = "";
  url.password = "";
  const isGiven = Object.keys(transport.headers).some((name) => name.toLowerCase() === "authorization");
  const headers = isGiven ? transport.headers : { ...transport.headers, authorization: `Basic ${credentials.basic}` };
  return { url: url.href, headers };
}
