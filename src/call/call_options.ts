import { aDelay, aFunction, aSignal, aText, checkOptions, oneOf, option, type OptionRules } from "../kernel/options.ts";
import type { CallOptions } from "./call.ts";
import type { PromptOptions } from "./prompts.ts";
import type { ReadingOptions } from "./reading.ts";

const aCaller = oneOf("model", "caller", "gateway", "user");

const callRules: OptionRules<CallOptions> = Object.freeze({
  signal: aSignal,
  timeoutMs: aDelay,
  onProgress: aFunction,
  toolCallId: option(
    "1 to 256 visible ASCII characters",
    (value) => typeof value === "string" && /^[\x21-\x7e]{1,256}$/.test(value),
  ),
  onAsk: oneOf("wait", "return", "deny"),
  by: aCaller,
  turnId: aText,
});

/** What plain JavaScript may hand in. Throws `ERR_INVALID_ARGUMENTS`. */
export function checkCallOptions(options: unknown): asserts options is CallOptions {
  checkOptions(options, callRules, { action: "call a tool", code: "ERR_INVALID_ARGUMENTS" });
}

/** What every read of something else than a tool may be given. */
export const readingRules: OptionRules<ReadingOptions> = Object.freeze({
  signal: aSignal,
  timeoutMs: aDelay,
  by: aCaller,
  onAsk: oneOf("wait", "deny"),
  turnId: aText,
});

/** What a prompt may be given. */
export const promptRules: OptionRules<PromptOptions> = Object.freeze({ ...readingRules, typed: aText });
