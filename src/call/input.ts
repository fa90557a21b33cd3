import type { EventInput } from "../events/event.ts";
import type { InputAction } from "../events/payloads.ts";
import { RemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { InputFacts } from "./input_events.ts";

/** For whose sake a server asks: a call, the read of a resource, or a prompt. */
export type AskSubject =
  | { readonly tool: string; readonly toolCallId: string }
  | { readonly uri: string }
  | { readonly prompt: string };

/** One thing that is asked, from its first event to its last. */
export interface Input extends InputFacts {
  readonly method: string;
  readonly params: JsonObject;
  /** Why nobody is asked. */
  readonly refused: string | undefined;
}

/** How it ended: with what to send, or with what to fail with. */
export type Ended =
  & { readonly action: InputAction; readonly reason?: string; readonly findings?: readonly EventInput[] }
  & ({ readonly result: JsonObject } | { readonly error: unknown });

/** What tells it from all others. */
export function factsOf({ method: _method, params: _params, refused: _refused, ...facts }: Input): InputFacts {
  return facts;
}

/** What names that for whose sake it is asked, in events. */
export function idOf(subject: AskSubject): Pick<InputFacts, "toolCallId" | "uri" | "prompt"> {
  return "toolCallId" in subject ? { toolCallId: subject.toolCallId } : subject;
}

/** What is asked for. The method and its parameters were checked. */
export function kindOf(method: string, params: JsonObject): Input["kind"] {
  if (method === "sampling/createMessage") return "sampling";
  if (method === "roots/list") return "roots";
  return params["mode"] === "url" ? "url" : "form";
}

/** What a result says that a person did. */
export function actionOf({ kind }: Input, { action }: JsonObject): InputAction {
  return (kind === "form" || kind === "url") && (action === "decline" || action === "cancel") ? action : "accept";
}

/** How a refusal is told to the server: forms and addresses have a word for it, the others have none but an error. */
export function refusalOf(
  { kind }: Input,
  action: "decline" | "cancel" = "cancel",
): { readonly result: JsonObject } | { readonly error: RemoteError } {
  return kind === "form" || kind === "url"
    ? { result: { action } }
    : { error: new RemoteError(-1, "User rejected sampling request") };
}
