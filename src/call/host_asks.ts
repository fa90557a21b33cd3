import type { FormAnswer, FormAsk, Root, UrlAnswer } from "../client/asks.ts";
import type { UrlAsk } from "../client/url_ask.ts";
import type { JsonObject } from "../protocol/model.ts";

/** Who asks, and for the sake of what: a call of a tool, the read of a resource, or a prompt that is filled in. */
export interface HostAskContext {
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Names the ask in the log. */
  readonly requestId: string;
  /** The server that asks. Show it: the texts of an ask are the server's own. */
  readonly server: string;
  readonly session: string;
  /** The full name of the tool that is called. */
  readonly tool?: string;
  readonly toolCallId?: string;
  /** The resource that is read, scrubbed. */
  readonly uri?: string;
  /** The prompt that is filled in, scrubbed, by the name that its server knows it by. */
  readonly prompt?: string;
}

/**
 * Answers what servers ask while they work on a call, a read or a prompt, in every revision that knows such asks. What has
 * a handler is declared to servers; without one nobody asks. What a handler is shown is scrubbed, but for the address
 * of a `url` ask, which has to be opened as it is. A handler that throws, or takes longer than five minutes, has refused.
 */
export interface HostAsks {
  /**
   * Fills in a form: show it and who wants it, let a person change and refuse it. Forms that ask for what looks like a
   * secret are declined without asking.
   */
  readonly form?: (ask: FormAsk, context: HostAskContext) => FormAnswer | Promise<FormAnswer>;
  /**
   * Asks whether an address may be opened, and opens it. A request that could not go on before is sent again after the
   * answer, so answer `accept` once the person is done there.
   */
  readonly url?: (ask: UrlAsk, context: HostAskContext) => UrlAnswer | Promise<UrlAnswer>;
  /**
   * Gets the parameters of `sampling/createMessage` and gives its result; `undefined` refuses. Show a person both, who may
   * change either. A history in which tools were used more than 32 times is refused without asking.
   */
  readonly sample?: (
    params: JsonObject,
    context: HostAskContext,
  ) => JsonObject | undefined | Promise<JsonObject | undefined>;
  /** Declares that sampling may use tools. Default false. */
  readonly sampleTools?: boolean;
  /** The places that a server may work in. Asked for a connection as a whole or in the middle of a call. */
  readonly roots?: (
    context: Pick<HostAskContext, "signal" | "server">,
  ) => readonly Root[] | Promise<readonly Root[]>;
  /** Declares that a change of roots is told, by `host.rootsChanged()`: call it after each. Default false. */
  readonly rootsListChanged?: boolean;
}

/** What answering needs beside the call. */
export interface CallAsks {
  readonly handlers: HostAsks;
  /** True for answers that contain a secret of the host. */
  readonly holdsSecret: (answer: JsonObject) => boolean;
}
