import { parseMessage } from "../jsonrpc/exact_numbers.ts";
import { type SpillOptions, SpillParser, WHOLE_FRAME_BYTES } from "../jsonrpc/spill.ts";
import { readLargeBody } from "./large_body.ts";
import { LargeEvents } from "./large_events.ts";
import { LargeLines } from "./large_lines.ts";
import type { LargeFrames } from "./frames.ts";

export interface LargeFramesOptions extends Pick<SpillOptions, "limits"> {
  /** Where long strings go. */
  readonly sink: NonNullable<SpillOptions["sink"]>;
  /** Messages of up to so many bytes are held and parsed whole. Default 1 MiB. */
  readonly maxWholeBytes?: number;
}

/** Reads long messages while they arrive: their long strings go to the sink, and the rest has to fit the limits. */
export function largeFrames(options: LargeFramesOptions): LargeFrames {
  const { maxWholeBytes = WHOLE_FRAME_BYTES, ...parsing } = options;
  const open = (): SpillParser => new SpillParser(parsing);
  return {
    parse: parseMessage,
    lines: (handlers) => new LargeLines(maxWholeBytes, open, handlers),
    events: (parser, onFrame) => new LargeEvents(maxWholeBytes, open, parser, onFrame),
    body: (response, lengthIsDecoded) => readLargeBody(response, maxWholeBytes, open, lengthIsDecoded),
  };
}
