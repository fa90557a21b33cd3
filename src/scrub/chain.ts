import type { Scrubber, TextScrub } from "./scrubber.ts";

/**
 * One scrubber made of several, applied in the order given: known values first, then patterns. Each must leave the
 * markers of the others alone.
 */
export function chainScrubbers(first: Scrubber, ...rest: readonly Scrubber[]): Scrubber {
  if (rest.length === 0) return first;
  const scrubbers = [first, ...rest];
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
