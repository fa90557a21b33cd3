import type { HostError, RemoteError } from "../kernel/errors.ts";
import type { Spill } from "../jsonrpc/spill_sink.ts";
import type { JsonObject } from "../protocol/model.ts";

/**
 * What became of one request that was sent once. Nothing here is ever sent again by the client itself beyond the closed
 * list in which the server proves that it did not execute the request; `resends` counts those.
 */
export type Reply =
  | {
    readonly kind: "done";
    readonly result: JsonObject;
    readonly bytes: number;
    readonly resends: number;
    /** See {@link RequestOptions.takesSpills}: each has to be closed or aborted. */
    readonly spills?: readonly Spill[];
  }
  /** The server asks for input before it goes on (2026-07-28, input rounds). The same request follows with the answers. */
  | {
    readonly kind: "input_required";
    readonly inputRequests: JsonObject | undefined;
    readonly requestState: string | undefined;
    readonly bytes: number;
    readonly resends: number;
  }
  /** The server made a task of it. */
  | { readonly kind: "task"; readonly task: JsonObject; readonly bytes: number; readonly resends: number }
  | FailedReply;

export interface FailedReply {
  readonly kind: "failed";
  readonly error: HostError | RemoteError;
  /** False only when it is certain that no byte of it left this process. */
  readonly sent: boolean;
  /** True only on proof that the server did not execute it. */
  readonly refused: boolean;
  readonly resends: number;
}
