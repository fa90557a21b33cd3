import { promptRules, readingRules } from "../call/call_options.ts";
import {
  aDelay,
  aFilledText,
  aFunction,
  anObject,
  aSignal,
  aText,
  checkOptions,
  oneOf,
  option,
  type OptionRules,
  wholeFrom,
} from "../kernel/options.ts";
import type {
  ChildOptions,
  CompleteQuery,
  OfferListOptions,
  ResourceOptions,
  SubscribeOptions,
} from "./session_options.ts";

const patterns = option(
  "a list of patterns",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string" && each !== ""),
);
const list: OptionRules<OfferListOptions> = Object.freeze({ server: aText, signal: aSignal, timeoutMs: aDelay });
const resource: OptionRules<ResourceOptions> = Object.freeze({ ...readingRules, server: aText });
const subscribe: OptionRules<SubscribeOptions> = Object.freeze({ ...resource, onUpdated: aFunction });
const prompt = promptRules;
const child: OptionRules<ChildOptions> = Object.freeze({ id: aFilledText, allow: patterns, deny: patterns });
const complete: OptionRules<CompleteQuery> = Object.freeze({
  of: option(
    'an object with "prompt" or "template"',
    (value) =>
      anObject.fits(value) &&
      [(value as Record<string, unknown>)["prompt"], (value as Record<string, unknown>)["template"]].some((each) =>
        typeof each === "string"
      ),
  ),
  argument: option(
    'an object with "name" and "value", two strings',
    (value) =>
      anObject.fits(value) && typeof (value as Record<string, unknown>)["name"] === "string" &&
      typeof (value as Record<string, unknown>)["value"] === "string",
  ),
  known: anObject,
});
const toolNames: OptionRules<{ spelling: string; filter: unknown }> = Object.freeze({
  spelling: oneOf("alias", "qualified"),
  filter: aFunction,
});
const toolDefinitions: OptionRules<{ format: string; filter: unknown }> = Object.freeze({
  format: option("the name of a format", () => true),
  filter: aFunction,
});
const turn: OptionRules<{ turnId: string }> = Object.freeze({ turnId: aFilledText });
const events: OptionRules<{ after: number; signal: AbortSignal }> = Object.freeze({
  after: wholeFrom(0),
  signal: aSignal,
});

/** What can be done with a session under options. */
export type SessionUse =
  | "list"
  | "read"
  | "subscribe"
  | "prompt"
  | "complete"
  | "child"
  | "toolNames"
  | "toolDefinitions"
  | "turn"
  | "events";

interface Use {
  /** What it is called where it is refused. */
  readonly action: string;
  readonly rules: object;
  readonly required?: readonly string[];
}

const uses: Readonly<Record<SessionUse, Use>> = Object.freeze({
  list: { action: "list what servers offer", rules: list },
  read: { action: "read a resource", rules: resource },
  subscribe: { action: "subscribe to a resource", rules: subscribe, required: ["onUpdated"] },
  prompt: { action: "use a prompt", rules: prompt },
  complete: { action: "complete", rules: complete, required: ["of", "argument"] },
  child: { action: "open a child session", rules: child },
  toolNames: { action: "list tools", rules: toolNames },
  toolDefinitions: { action: "list tools", rules: toolDefinitions },
  turn: { action: "begin a turn", rules: turn },
  events: { action: "follow a session", rules: events },
});

/** Checks the options of one use of a session. Throws `ERR_INVALID_ARGUMENTS`. */
export function checkUse(use: SessionUse, options: unknown): void {
  const { rules, ...rest } = uses[use];
  checkOptions(options, rules as OptionRules<object>, { ...rest, code: "ERR_INVALID_ARGUMENTS" });
}
