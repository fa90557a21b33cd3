import { causeCode, HostError } from "../kernel/errors.ts";
import type { Scrubber, TextScrub } from "./scrubber.ts";

/**
 * One scrubber made of several, applied in the order given: known values first, then patterns. Each must leave the
 * markers of the others alone. Where one of `rest` fails, or answers what is no text, it throws `ERR_CONFIG`: what was
 * not scrubbed by all of them is not passed on.
 */
export function chainScrubbers(first: Scrubber, ...rest: readonly Scrubber[]): Scrubber {
  if (rest.length === 0) return first;
  const scrubbers = [first, ...rest.map(checked)];
  return {
    text: (text) => scrubbers.reduce((scrubbed, scrubber) => scrubber.text(scrubbed), text),
    value: (value) => scrubbers.reduce((scrubbed, scrubber) => scrubber.value(scrubbed), value),
    stream: () => chainStreams(scrubbers.map((scrubber) => scrubber.stream())),
  };
}

function chainStreams(streams: readonly TextScrub[]): TextScrub {
  return {
    push: (text) => streams.reduce((scrubbed, stream) => stream.push(scrubbed), text),
    // What one had kept back still has to pass those behind it.
    end: () => streams.reduce((scrubbed, stream) => stream.push(scrubbed) + stream.end(), ""),
  };
}

/** A scrubber of the user's, whose every failure is a typed one. */
function checked(scrubber: Scrubber): Scrubber {
  return {
    text: (text) => checkedText(() => scrubber.text(text)),
    value: <T>(value: T): T => {
      const scrubbed = attempt(() => scrubber.value(value));
      if (value !== undefined && (scrubbed === undefined || isThenable(scrubbed))) throw failed("it answered no value");
      return scrubbed;
    },
    stream: () => {
      const stream = attempt(() => scrubber.stream());
      return { push: (text) => checkedText(() => stream.push(text)), end: () => checkedText(() => stream.end()) };
    },
  };
}

function checkedText(scrub: () => string): string {
  const text: unknown = attempt(scrub);
  if (typeof text === "string") return text;
  throw failed("it answered no text");
}

function attempt<T>(scrub: () => T): T {
  try {
    return scrub();
  } catch (cause) {
    throw failed(`it threw ${causeCode(cause)}`, cause);
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function failed(found: string, cause?: unknown): HostError {
  return new HostError("ERR_CONFIG", `Cannot scrub: a scrubber that was handed to the host failed, ${found}`, {
    cause,
  });
}
