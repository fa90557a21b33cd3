import type { LostRequest, TransportEnd, TransportHandlers, WarningKind } from "../../../src/jsonrpc/link.ts";
import type { Incoming, MalformedReason, RequestId } from "../../../src/jsonrpc/message.ts";
import type { FetchFunction } from "../../../src/kernel/runtime.ts";
import type { WireProfile } from "../../../src/transport/transport.ts";

/** What a transport has told its owner, in order. */
export type Told =
  | { readonly on: "message"; readonly message: Incoming; readonly bytes: number; readonly of: number | undefined }
  | {
    readonly on: "malformed";
    readonly reason: MalformedReason;
    readonly id: RequestId | undefined;
    readonly of: number | undefined;
  }
  | { readonly on: "resent"; readonly id: number }
  | { readonly on: "lost"; readonly id: number; readonly lost: LostRequest }
  | { readonly on: "warning"; readonly kind: WarningKind }
  | { readonly on: "closed"; readonly end: TransportEnd; readonly unsent: number[] };

export function listener(): { readonly handlers: TransportHandlers; readonly told: Told[] } {
  const told: Told[] = [];
  return {
    told,
    handlers: {
      onMessage: (message, bytes, of) => void told.push({ on: "message", message, bytes, of }),
      onMalformed: (reason, id, of) => void told.push({ on: "malformed", reason, id, of }),
      onResent: (id) => void told.push({ on: "resent", id }),
      onLost: (id, lost) => void told.push({ on: "lost", id, lost }),
      onWarning: (kind) => void told.push({ on: "warning", kind }),
      onClosed: (end, unsent) => void told.push({ on: "closed", end, unsent: [...unsent] }),
    },
  };
}

export const profile = (facts: Partial<WireProfile> = {}): WireProfile => ({
  sessions: true,
  cancelsByClosing: false,
  batches: false,
  headers: () => ({}),
  ...facts,
});

/** One request as the scripted fetch got it. */
export interface Fetched {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly signal: AbortSignal;
}

type Script = (request: Fetched) => Response | Promise<Response>;

/**
 * A fetch that answers from a script, ends with its signal as the real one does, and throws when it is called as a
 * method (FR-75).
 */
export function scriptedFetch(script: Script): { readonly fetch: FetchFunction; readonly requests: Fetched[] } {
  const requests: Fetched[] = [];
  async function fetch(this: unknown, url: string, init: RequestInit = {}): Promise<Response> {
    if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
    const signal = init.signal!;
    signal.throwIfAborted();
    const request = {
      url,
      method: init.method!,
      headers: init.headers as Record<string, string>,
      body: String(init.body ?? ""),
      signal,
    };
    requests.push(request);
    return await new Promise<Response>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      const leave = (): void => signal.removeEventListener("abort", onAbort);
      Promise.resolve(script(request)).then(resolve, reject).finally(leave);
    });
  }
  return { fetch, requests };
}

export const json = (value: unknown, init: ResponseInit = {}): Response =>
  new Response(typeof value === "string" ? value : JSON.stringify(value), {
    ...init,
    headers: { "content-type": "application/json", ...init.headers },
  });

export const result = (id: unknown, value: unknown = {}): object => ({ jsonrpc: "2.0", id, result: value });

/** A body of these chunks, the last of which may be an error to break with, or a promise that never settles. */
export function body(
  ...chunks: (string | Error | Promise<never>)[]
): ReadableStream<Uint8Array> & { cancelled?: boolean } {
  const stream: ReadableStream<Uint8Array> & { cancelled?: boolean } = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = chunks.shift();
      if (next === undefined) controller.close();
      else if (typeof next === "string") controller.enqueue(new TextEncoder().encode(next));
      else if (next instanceof Error) controller.error(next);
      else await next;
    },
    cancel() {
      stream.cancelled = true;
    },
  }, { highWaterMark: 0 });
  return stream;
}

export const events = (...chunks: Parameters<typeof body>): Response =>
  new Response(body(...chunks), { headers: { "content-type": "text/event-stream" } });

export const event = (value: unknown): string =>
  `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
