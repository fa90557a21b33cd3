import { HostError, isRemoteError } from "../kernel/errors.ts";
import type { Peer } from "../jsonrpc/peer.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import type { LegacyEra } from "./legacy.ts";
import { initializeParams } from "./legacy.ts";
import type { JsonObject, ServerCapabilities } from "./model.ts";
import { asObject, type Introduction, readInitialize } from "./results.ts";
import { noCommonVersion } from "./start_error.ts";

/** What a handshake is made with. */
export interface Handshake {
  readonly peer: Peer;
  readonly era: LegacyEra;
  /** Revisions to accept; the first is asked for. */
  readonly versions: readonly string[];
  readonly clientInfo: JsonObject;
  readonly capabilities: JsonObject;
  /** Sends one request within the time that the handshake has. */
  ask(method: string, params: JsonObject): Promise<Settled>;
  /** Waits within that time. */
  bounded<T>(promise: Promise<T>): Promise<T>;
}

/** Asks `initialize` for the first revision of the list, or another of it. */
export function askToInitialize(
  { ask, versions, clientInfo, capabilities }: Handshake,
  version: string = versions[0]!,
): Promise<Settled> {
  return ask("initialize", initializeParams(version, clientInfo, capabilities));
}

/**
 * Reads the answer to `initialize`, asks once more where the server names other revisions instead (-32602 in the
 * documentation), and tells the server that the conversation begins. Throws when there is nothing to agree on.
 */
export async function agree(first: Settled, handshake: Handshake): Promise<Introduction> {
  const { peer, era, versions, bounded } = handshake;
  let settled = first;
  const supported = supportedOf(settled);
  if (supported !== undefined) {
    const common = versions.find((known, index) => index > 0 && supported.includes(known));
    if (common === undefined) throw noCommonVersion(supported, versions);
    settled = await askToInitialize(handshake, common);
    const again = supportedOf(settled);
    if (again !== undefined) throw noCommonVersion(again, versions);
  }
  if (!settled.ok) throw settled.error;
  const answer = readInitialize(settled.result);
  if (answer === undefined) {
    throw new HostError("ERR_PROTOCOL", "Cannot use the answer to initialize: found no protocolVersion");
  }
  const { protocolVersion, ...introduction } = answer;
  if (!versions.includes(protocolVersion)) throw noCommonVersion([protocolVersion], versions);
  era.agree(protocolVersion);
  // Over HTTP the server must have taken it before the first request follows.
  await bounded(Promise.resolve(peer.notify("notifications/initialized")));
  return introduction;
}

/**
 * True when a server may have something to tell that belongs to no request: it says so of itself, or it has been told that
 * it may ask, which many do where they tell the rest.
 */
export function mayPush({ tools, resources, prompts, logging }: ServerCapabilities, ours: JsonObject): boolean {
  const pushing = [tools, resources, prompts].map((kind) => asObject(kind));
  return logging !== undefined || ASKS.some((kind) => ours[kind] !== undefined) ||
    pushing.some((kind) => kind?.["listChanged"] === true || kind?.["subscribe"] === true);
}

/** What a client declares so that servers may ask for it. */
const ASKS: readonly string[] = ["elicitation", "sampling", "roots"];

/** The revisions that a server names in the place of an answer. */
function supportedOf(settled: Settled): string[] | undefined {
  if (settled.ok || !isRemoteError(settled.error)) return undefined;
  const supported = asObject(settled.error.data)?.["supported"];
  return Array.isArray(supported) ? supported.map(String) : undefined;
}
