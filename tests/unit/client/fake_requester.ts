import type { ServerFacts } from "../../../src/client/client.ts";
import type { Requester } from "../../../src/client/pages.ts";
import type { Reply } from "../../../src/client/reply.ts";
import { type HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject, ServerCapabilities } from "../../../src/protocol/model.ts";
import { done, failed } from "../../fixtures/fake_client.ts";

export const LEGACY = "2025-11-25";
export const FIRST = "2024-11-05";
export const MODERN = "2026-07-28";

/** A result, an error, or a whole reply. */
export type Answer = JsonObject | HostError | RemoteError | { readonly reply: Reply };

export interface FakeRequester extends Requester {
  /** Method and parameters of all requests, in order. */
  readonly sent: readonly [string, JsonObject | undefined][];
}

/** A client whose every request is answered by one function. */
export function fakeRequester(
  answer: (method: string, params: JsonObject) => Answer,
  { capabilities = {}, protocolVersion = LEGACY, subscribes = false }: {
    readonly capabilities?: ServerCapabilities;
    readonly protocolVersion?: string;
    readonly subscribes?: boolean;
  } = {},
): FakeRequester {
  const sent: [string, JsonObject | undefined][] = [];
  const facts: ServerFacts = {
    era: "test",
    protocolVersion,
    serverInfo: undefined,
    capabilities,
    instructions: undefined,
    subscribes,
  };
  return {
    facts,
    sent,
    request(method, params) {
      sent.push([method, params]);
      const answered = answer(method, params ?? {});
      if (answered instanceof Error) return Promise.resolve(failed(answered as RemoteError, true));
      return Promise.resolve("reply" in answered ? answered["reply"] as Reply : done(answered as JsonObject));
    },
  };
}

export const remote = (code: number, data?: unknown): RemoteError => new RemoteError(code, "no", data);
