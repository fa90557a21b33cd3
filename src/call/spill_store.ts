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

/** Bytes that are written at a time. */
const BLOCK = 128 << 10;
/** Bytes of a text that stay in memory. */
const HEAD = 64 << 10;
const TAIL = 16 << 10;
/** Most bytes of one character. */
const MAX_CHARACTER = 4;
/** Most of a text that is read on when it cannot be kept: its end and its size are worth that much. */
const MAX_UNKEPT_BYTES = 64 << 20;
const EMPTY: Uint8Array = new Uint8Array(0);

/** Keeps long strings as artifacts, scrubbed while they arrive. */
export function spillStore(options: SpillStoreOptions): SpillSink {
  return { open: (mediaType) => new SpillStoreWriter(options, mediaType) };
}

class SpillStoreWriter implements SpillWriter {
  readonly #options: SpillStoreOptions;
  readonly #mediaType: string;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #encoder = new TextEncoder();
  readonly #scrub: TextScrub;
  #head: Uint8Array = EMPTY;
  #tail: Uint8Array = EMPTY;
  #bytes = 0;
  /** Scrubbed, not written yet. Each block is the store's once it has been handed over. */
  #block: Uint8Array = EMPTY;
  #length = 0;
  /** Writes so far, in order; never rejects. */
  #writing: Promise<void>;
  #artifact: ArtifactWriter | undefined;
  /** The text has passed what one artifact may have: reading it on would have no end. */
  #tooLarge: unknown;

  constructor(options: SpillStoreOptions, mediaType: string) {
    this.#options = options;
    this.#mediaType = mediaType;
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
    if (this.#add(clean)) return this.#pace();
  }

  async close(signal?: AbortSignal): Promise<SpilledText> {
    try {
      this.#add(this.#scrub.push(this.#decoder.decode()) + this.#scrub.end());
    } catch (error) {
      await this.abort();
      throw error;
    }
    this.#flush();
    // A store that stays silent must not lose the answer of a call that was made.
    const stored = await untilAborted(this.#commit(), "Keeping an artifact", signal).catch((error: unknown) => {
      this.#options.onError(error);
      void this.abort();
      return undefined;
    });
    const text = { head: textOf(this.#head), tail: textOf(this.#tail), bytes: this.#bytes };
    return stored === undefined ? text : { ...text, stored };
  }

  async abort(): Promise<void> {
    this.#block = EMPTY;
    await this.#writing;
    await this.#artifact?.abort();
    this.#artifact = undefined;
  }

  /** True when something was written: whoever feeds this has to wait for it. */
  #add(clean: string): boolean {
    let isWritten = false;
    // Never joined to a longer text first: a runtime copies and looks at each character of such a text once more.
    for (let rest = clean; rest !== "";) {
      if (this.#block.length === 0) this.#block = new Uint8Array(BLOCK);
      const { read, written } = this.#encoder.encodeInto(rest, this.#block.subarray(this.#length));
      this.#length += written;
      rest = read === rest.length ? "" : rest.slice(read);
      if (this.#length <= BLOCK - MAX_CHARACTER) continue;
      this.#flush();
      isWritten = true;
    }
    return isWritten;
  }

  async #pace(): Promise<void> {
    await this.#writing;
    if (this.#tooLarge !== undefined) throw this.#tooLarge;
  }

  #flush(): void {
    const block = this.#block.subarray(0, this.#length);
    this.#block = EMPTY;
    this.#length = 0;
    this.#bytes += block.length;
    if (this.#head.length < HEAD) this.#head = joined(this.#head, block.subarray(0, HEAD - this.#head.length));
    this.#tail = block.length >= TAIL ? block.slice(-TAIL) : joined(this.#tail, block).slice(-TAIL);
    this.#writing = this.#writing.then(() => this.#write(block));
  }

  async #open(): Promise<void> {
    try {
      this.#artifact = await this.#options.artifacts.create({ mediaType: this.#mediaType });
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
    await this.#pace();
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

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

/** The text of a part of UTF-8, without what is left of a character at either end. */
function textOf(utf8: Uint8Array): string {
  let from = 0;
  while (from < MAX_CHARACTER && (utf8[from]! & 0xc0) === 0x80) from++;
  // Bytes that a streaming decoder waits behind for more are left out.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(utf8.subarray(from), { stream: true });
}
