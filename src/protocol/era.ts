import type { HostError } from "../kernel/errors.ts";
import type { Answerer, MessageEncoder } from "../jsonrpc/peer.ts";
import type { WireProfile } from "../transport/transport.ts";
import type { HeaderMirror } from "./mirror.ts";
import type { JsonObject } from "./model.ts";
import type { EraName } from "./versions.ts";

/** What a result means. */
export type Meaning =
  | { readonly kind: "done"; readonly result: JsonObject }
  | {
    readonly kind: "input_required";
    readonly inputRequests: JsonObject | undefined;
    readonly requestState: string | undefined;
  }
  | { readonly kind: "task"; readonly task: JsonObject }
  | { readonly kind: "invalid"; readonly error: HostError };

/**
 * All that depends on the family of revisions in force. Outside this folder nobody asks which one it is: they ask this
 * object for a fact or call its function.
 */
export interface Era {
  readonly name: EraName;
  /** The agreed revision; empty before the handshake. */
  readonly protocolVersion: string;
  readonly encoder: MessageEncoder;
  readonly profile: WireProfile;
  /** Absent where the server may not ask on its own. */
  readonly answerer: Answerer | undefined;
  /** What HTTP headers repeat of the arguments of calls. Absent where the revision knows nothing of it. */
  readonly mirror?: HeaderMirror;
  /** The request that asks whether the server is there. Absent: `ping`. */
  readonly ping?: string;
  /** Answers say how long they stay good. */
  readonly caches?: true;
  /**
   * The id by which a notification names the subscription that it belongs to. Absent where the server tells of changes
   * unasked.
   */
  readonly subscriptionOf?: (method: string, params: unknown) => { readonly id: unknown } | undefined;
  /** The member of `_meta` by which a request asks for log messages. Absent where the connection has one level. */
  readonly logLevelKey?: string;
  /** Reads the `result` member of a response to `method`. */
  read(method: string, result: unknown): Meaning;
}
