import type { HttpTransportInput, ServerConfigInput, StdioTransportInput } from "./config_input.ts";
import { configError } from "./config_shape.ts";

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
  /** Put before the path of the address that a server of HTTP with SSE names for messages. */
  readonly endpointPrefix?: string;
}

/** The one transport that is given, in whichever shape. Throws `ERR_CONFIG` for none, two, or one that cannot be used. */
export function transportOf(shape: ServerConfigInput, place: string): StdioTransportConfig | HttpTransportConfig {
  const flat = (["type", "command", "args", "cwd", "inheritEnv", "url", "headers"] as const).filter((key) =>
    shape[key] !== undefined
  );
  if (shape.transport !== undefined) {
    if (flat.length > 0) {
      throw configError(place, `"${flat[0]}" stands beside "transport", wanted it inside or no "transport"`);
    }
    return shape.transport.type === "stdio"
      ? stdioOf({ ...shape.transport, env: environmentOf(shape, place) }, place)
      : httpOf(shape.transport, shape, place);
  }
  if (shape.command !== undefined && shape.url !== undefined) {
    throw configError(place, `both "command" and "url" are given, wanted one of them`);
  }
  if (shape.command !== undefined) {
    refuseKeys(shape, ["headers"], "command", place);
    if (shape.type !== undefined && shape.type !== "stdio") {
      throw configError(place, `"type" is "${shape.type}" beside "command", wanted "stdio"`);
    }
    return stdioOf({ ...shape, command: shape.command, type: "stdio" }, place);
  }
  if (shape.url !== undefined) {
    refuseKeys(shape, ["args", "cwd", "inheritEnv"], "url", place);
    if (shape.type === "stdio") throw configError(place, `"type" is "stdio" beside "url", wanted "http" or "sse"`);
    return httpOf({ type: shape.type ?? "http", url: shape.url, headers: shape.headers }, shape, place);
  }
  throw configError(place, `no transport is given, wanted "transport", "command" or "url"`);
}

function refuseKeys(
  shape: ServerConfigInput,
  keys: readonly (keyof ServerConfigInput)[],
  beside: string,
  place: string,
): void {
  const found = keys.find((key) => shape[key] !== undefined);
  if (found !== undefined) throw configError(place, `"${found}" has no meaning beside "${beside}"`);
}

function environmentOf(shape: ServerConfigInput, place: string): Readonly<Record<string, string>> {
  const inner = shape.transport?.type === "stdio" ? shape.transport.env ?? {} : {};
  const outer = shape.env ?? {};
  const twice = Object.keys(outer).find((key) => Object.hasOwn(inner, key));
  if (twice !== undefined) throw configError(place, `variable "${twice}" is given in "env" and in "transport.env"`);
  return { ...outer, ...inner };
}

function stdioOf(given: StdioTransportInput, place: string): StdioTransportConfig {
  const env = given.env ?? {};
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name)) throw configError(place, `a name in "env" is empty or holds "=" or a zero character`);
    if (value.includes("\0")) throw configError(place, `"env.${name}" holds a zero character`);
  }
  if (given.command.trim() === "") throw configError(place, `"command" is blank`);
  if ([given.command, given.cwd ?? "", ...(given.args ?? [])].some((part) => part.includes("\0"))) {
    throw configError(place, `"command", "args" or "cwd" holds a zero character`);
  }
  return Object.freeze({
    type: "stdio",
    command: given.command,
    args: Object.freeze([...(given.args ?? [])]),
    env: Object.freeze({ ...env }),
    inheritEnv: given.inheritEnv ?? "base",
    ...(given.cwd === undefined ? {} : { cwd: given.cwd }),
  });
}

function httpOf(given: HttpTransportInput, shape: ServerConfigInput, place: string): HttpTransportConfig {
  if (Object.keys(shape.env ?? {}).length > 0) {
    throw configError(place, `"env" has no meaning for a server behind "url"`);
  }
  const headers = given.headers ?? {};
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]]);
    } catch {
      // The runtime's message would quote the value.
      throw configError(place, `"headers" has an entry ${JSON.stringify(name.slice(0, 64))} that is no valid header`);
    }
  }
  return Object.freeze({
    type: given.type === "sse" ? "sse" : "http",
    url: urlOf(given.url, place),
    headers: Object.freeze({ ...headers }),
    ...(given.endpointPrefix === undefined ? {} : { endpointPrefix: prefixOf(given.endpointPrefix, place) }),
  });
}

function prefixOf(text: string, place: string): string {
  if (/^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(text)) return text;
  throw configError(place, `"transport.endpointPrefix" is no path, wanted one such as /mcp`);
}

function urlOf(text: string, place: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The runtime's message would quote the text, which may hold a secret.
    throw configError(place, `"url" is no absolute URL, wanted one that begins with https:// or http://`);
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw configError(place, `"url" has the scheme "${url.protocol.slice(0, 32)}", wanted "https:" or "http:"`);
  }
  return text;
}
