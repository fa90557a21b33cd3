/** What has become of a string that went to a {@link SpillSink}, all of it scrubbed. */
export interface SpilledText {
  /** The beginning and the end of the text; the whole of it is never in memory. */
  readonly head: string;
  readonly tail: string;
  /** UTF-8 bytes of the whole. */
  readonly bytes: number;
  /** Where the whole is kept; absent where keeping it failed. */
  readonly stored?: { readonly sha256: string; readonly bytes: number; readonly mediaType: string };
}

/**
 * Takes one long string while its message still arrives, so before anybody knows whose it is. Exactly one of `close` and
 * `abort` ends it.
 */
export interface SpillWriter {
  /**
   * The next bytes of the text, from its very beginning, escapes resolved. They are UTF-8 as far as the peer's are: decode
   * them as a text decoder does. They may be overwritten once this has returned. A promise pauses the source; what it
   * rejects with, or what this throws, fails the message.
   */
  write(utf8: Uint8Array): void | Promise<void>;
  /** The message was taken on by somebody who wants the text, for which it waits as long as the signal allows. */
  close(signal?: AbortSignal): Promise<SpilledText>;
  /** Nobody wants it; nothing of it is kept. Never rejects. */
  abort(): void | Promise<void>;
}

/** Where long strings go. */
export interface SpillSink {
  /** `mediaType` is what the text is: `text/plain`, or `application/json` for a whole result. */
  open(mediaType: string): SpillWriter;
}

/**
 * A string that was too long to stay in its message. In its place stands its beginning, unscrubbed.
 *
 * Or a whole result, as JSON text: what would have stayed of it was too much. In its place stands an object with those of
 * its members that are no objects, no arrays and no strings over 4 KiB. Long strings that had left it before follow it, with its own pointer; in
 * its text a note stands for each.
 */
export interface Spill {
  /** JSON pointer (RFC 6901) to the string, from the message's root. */
  readonly pointer: string;
  /** True for a whole result. */
  readonly isWhole?: true;
  /** UTF-8 bytes of the text as it came. */
  readonly bytes: number;
  readonly writer: SpillWriter;
}

/** The result that was put aside as a whole, if one was. */
export function wholeOf(spills: readonly Spill[] | undefined): Spill | undefined {
  return spills?.find(({ isWhole }) => isWhole);
}

/** Lets go of texts that nobody has taken on. */
export function abortSpills(spills: readonly Pick<Spill, "writer">[] = []): void {
  for (const { writer } of spills) void writer.abort();
}
