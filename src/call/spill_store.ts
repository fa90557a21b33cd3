import type { SpilledText, SpillSink, SpillWriter } from "../jsonrpc/spill_sink.ts";
import { untilAborted } from "../kernel/abort.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import type { Scrubber, TextScrub } from "../scrub/scrubber.ts";
import type { ArtifactStore, ArtifactWriter } from "../store/artifacts.ts";

export interface SpillStoreOptions {
  readonly artifacts: ArtifactStore;
  readonly scrubber: Scrubber;
  /** Told why a text could not be kept; what is shown of it is shown all the same. */
  readonly onError: (error: unknown) => void;
}

/** What is written at a time, in UTF-16 units. */
const BLOCK = 128 << 10;
/** What of a text stays in memory, in UTF-16 units. */
const HEAD = 64 << 10;
const TAIL = 16 << 10;
/** Most of a text that is read on when it cannot be kept: its end and its size are worth that much. */
const MAX_UNKEPT_BYTES = 64 << 20;

/** Keeps long strings as artifacts, scrubbed while they arrive. */
export function spillStore(options: SpillStoreOptions): SpillSink {
  return { open: () => new SpillStoreWriter(options) };
}

class SpillStoreWriter implements SpillWriter {
  readonly #options: SpillStoreOptions;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #encoder = new TextEncoder();
  readonly #scrub: TextScrub;
  #head = "";
  #tail = "";
  #bytes = 0;
  /** Scrubbed, not written yet. */
  #block = "";
  /** Writes so far, in order; never rejects. */
  #writing: Promise<void>;
  #artifact: ArtifactWriter | undefined;
  /** The text has passed what one artifact may have: reading it on would have no end. */
  #tooLarge: unknown;

  constructor(options: SpillStoreOptions) {
    this.#options = options;
    this.#scrub = options.scrubber.stream();
    this.#writing = this.#open();
  }

  write(utf8: Uint8Array): void | Promise<void> {
    let clean: string;
    try {
      clean = this.#scrub.push(this.#decoder.decode(utf8, { stream: true }));
    } catch (error) {
      this.#options.onError(error);
      throw error;
    }
    return this.#add(clean);
  }

  async close(signal?: AbortSignal): Promise<SpilledText> {
    const last = this.#scrub.push(this.#decoder.decode()) + this.#scrub.end();
    // What it ends with is looked at below.
    void Promise.resolve(this.#add(last, true)).catch(() => {/* also kept in `#tooLarge` */});
    const kept = this.#writing.then(() => this.#commit());
    // A store that stays silent must not lose the answer of a call that was made.
    const stored = await untilAborted(kept, "Keeping an artifact", signal).catch((error: unknown) => {
      this.#options.onError(error);
      void this.abort();
      return undefined;
    });
    const text = { head: wholeEnd(this.#head), tail: wholeStart(this.#tail), bytes: this.#bytes };
    return stored === undefined ? text : { ...text, stored };
  }

  async abort(): Promise<void> {
    this.#block = "";
    await this.#writing;
    await this.#artifact?.abort();
    this.#artifact = undefined;
  }

  #add(clean: string, isLast = false): void | Promise<void> {
    if (this.#head.length < HEAD) this.#head += clean.slice(0, HEAD - this.#head.length);
    this.#block += clean;
    if (this.#block.length < BLOCK && !isLast) return;
    const block = this.#block;
    this.#block = "";
    this.#tail = block.length >= TAIL ? block.slice(-TAIL) : (this.#tail + block).slice(-TAIL);
    const encoded = this.#encoder.encode(block);
    this.#bytes += encoded.length;
    this.#writing = this.#writing.then(() => this.#write(encoded));
    return this.#writing.then(() => {
      if (this.#tooLarge !== undefined) throw this.#tooLarge;
    });
  }

  async #open(): Promise<void> {
    try {
      this.#artifact = await this.#options.artifacts.create({ mediaType: "text/plain" });
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async #write(encoded: Uint8Array): Promise<void> {
    const artifact = this.#artifact;
    if (artifact === undefined) {
      if (this.#bytes > MAX_UNKEPT_BYTES) this.#tooLarge ??= tooLong(this.#bytes);
      return;
    }
    try {
      await artifact.write(encoded);
    } catch (error) {
      this.#artifact = undefined;
      await artifact.abort();
      if (isHostError(error, "ERR_TOO_LARGE") && error.facts["what"] === "artifact") this.#tooLarge = error;
      else this.#options.onError(error);
    }
  }

  async #commit(): Promise<SpilledText["stored"]> {
    if (this.#tooLarge !== undefined) throw this.#tooLarge;
    const artifact = this.#artifact;
    this.#artifact = undefined;
    return await artifact?.commit();
  }
}

function tooLong(bytes: number): HostError {
  const found = `it has ${bytes} bytes or more and cannot be kept`;
  return new HostError(
    "ERR_TOO_LARGE",
    `Cannot read a long text: ${found}, at most ${MAX_UNKEPT_BYTES} are read then`,
    {
      facts: { bytes, maxBytes: MAX_UNKEPT_BYTES },
    },
  );
}

/** The text without half a character at its end. */
function wholeEnd(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text;
}

/** The text without half a character at its beginning. */
function wholeStart(text: string): string {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first < 0xe000 ? text.slice(1) : text;
}
