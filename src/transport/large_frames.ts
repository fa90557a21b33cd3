import { parseMessage } from "../jsonrpc/exact_numbers.ts";
import { type SpillOptions, SpillParser, WHOLE_FRAME_BYTES } from "../jsonrpc/spill.ts";
import { FrameAccount, type FrameBudget } from "./frame_budget.ts";
import { readLargeBody } from "./large_body.ts";
import type { OpenFrames } from "./large_frame.ts";
import { LargeEvents } from "./large_events.ts";
import { LargeLines } from "./large_lines.ts";
import type { LargeFrames } from "./frames.ts";

export interface LargeFramesOptions extends Pick<SpillOptions, "limits"> {
  /** Where long strings go. */
  readonly sink: NonNullable<SpillOptions["sink"]>;
  /** Messages of up to so many bytes are held and parsed whole. Default 1 MiB. */
  readonly maxWholeBytes?: number;
  /** What all messages together may hold. Default: no bound but that of each. */
  readonly budget?: Pick<FrameBudget, "open">;
}

/** Reads long messages while they arrive: their long strings go to the sink, and the rest has to fit the limits. */
export function largeFrames(options: LargeFramesOptions): Required<LargeFrames> {
  const { maxWholeBytes = WHOLE_FRAME_BYTES, budget = UNBOUNDED, ...parsing } = options;
  const open = (): SpillParser => {
    const account = budget.open();
    let held = 0;
    return new SpillParser({ ...parsing, onMemory: (delta) => account.set(held += delta) });
  };
  const opening: OpenFrames = { maxHeld: maxWholeBytes, open, account: () => budget.open() };
  return {
    parse: parseMessage,
    lines: (handlers) => new LargeLines(opening, handlers),
    events: (parser, onFrame) => new LargeEvents(opening, parser, onFrame),
    body: (response, lengthIsDecoded, arrival) => readLargeBody(response, opening, lengthIsDecoded, arrival),
  };
}

const UNBOUNDED: Pick<FrameBudget, "open"> = { open: () => new FrameAccount(() => {}) };
