import type { EventInput } from "../events/event.ts";
import type { InputAction, InputKind, KnownEventInput } from "../events/payloads.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { headOf, scrubbedExcerpt } from "../servers/fault.ts";

/** What tells one ask from all others. */
export interface InputFacts {
  readonly requestId: string;
  readonly server: string;
  readonly kind: InputKind;
  /** For whose sake it is asked: one of these. */
  readonly toolCallId?: string;
  readonly uri?: string;
  readonly prompt?: string;
}

const MAX_MESSAGE = 1000;
const MAX_SCHEMA = 2048;

/** `host` is that of an address. */
export function inputRequested(
  facts: InputFacts,
  params: JsonObject,
  host: string | undefined,
  scrubber: Scrubber,
): EventInput {
  const { message, messages, requestedSchema } = params;
  const shown = facts.kind === "sampling" ? JSON.stringify(messages) : message;
  return known({
    type: "mcp.input.requested",
    payload: {
      ...facts,
      message: typeof shown === "string" ? scrubbedExcerpt(shown, scrubber, MAX_MESSAGE) : undefined,
      schema: facts.kind === "form" ? shortSchema(scrubber.value(requestedSchema)) : undefined,
      urlHost: host === undefined ? undefined : scrubbedExcerpt(host, scrubber, MAX_MESSAGE),
    },
  });
}

export function inputResolved(facts: InputFacts, action: InputAction, reason?: string): EventInput {
  return known({ type: "mcp.input.resolved", payload: { ...facts, action, reason } });
}

function shortSchema(schema: unknown): unknown {
  const text = JSON.stringify(schema);
  return text.length <= MAX_SCHEMA ? schema : headOf(text, MAX_SCHEMA);
}

/** Holds an event against its payload's type. */
function known(event: KnownEventInput): EventInput {
  return event;
}
