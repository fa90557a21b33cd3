import { keepExact } from "./exact_numbers.ts";
import { messageOf, type ParsedMessage } from "./message.ts";
import type { SpillParse } from "./spill.ts";
import { abortSpills } from "./spill_sink.ts";

/** Sorts what a long frame was parsed to. Only an answer has somebody who may want its long strings. */
export function readSpilled(parse: SpillParse): ParsedMessage {
  if (!parse.ok) return { kind: "malformed", reason: parse.reason, ...requestId(parse.id) };
  const message = messageOf(keepExact(parse.value));
  if (message.kind === "result" && parse.spills.length > 0) return { ...message, spills: parse.spills };
  abortSpills(parse.spills);
  return message;
}

function requestId(id: unknown): { readonly id?: string | number } {
  return typeof id === "string" || typeof id === "number" ? { id } : {};
}
