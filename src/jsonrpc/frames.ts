import type { ParsedMessage } from "./message.ts";

/** Parses one frame while it arrives. */
export interface FrameParser {
  /** It will be refused whatever follows. */
  readonly isRefused: boolean;
  /** Takes the next bytes; they may be reused once what is returned has settled. Never throws, never rejects. */
  push(bytes: Uint8Array): void | Promise<void>;
  /** The frame is complete. Never rejects. */
  end(): ParsedMessage | Promise<ParsedMessage>;
  /** The frame will never be complete. */
  abort(): void;
}

/**
 * How frames are read that are too long to be held whole. A transport that is given none refuses them; handed in, so that
 * only those who want it pay for it.
 */
export interface LargeFrames {
  /** Frames of up to so many bytes are held and parsed whole. */
  readonly maxWholeBytes: number;
  open(): FrameParser;
}
