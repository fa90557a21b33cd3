import { toHex } from "../kernel/canonical.ts";
import { checkOptions, type OptionRules, wholeFrom } from "../kernel/options.ts";
import { checkMediaType, checkSha256, closedStore, endedWriter, Quota, tooLarge } from "./artifact_rules.ts";
import type { ArtifactRef, ArtifactStore, ArtifactWriter } from "./artifacts.ts";

export interface MemoryArtifactsOptions {
  /** Most bytes of all artifacts together. Default 256 MiB. */
  readonly maxTotalBytes?: number;
}

const rules: OptionRules<MemoryArtifactsOptions> = Object.freeze({ maxTotalBytes: wholeFrom(1) });

/** Most bytes of one artifact in memory, whatever its writer allows. */
const MAX_BYTES = 64 * 1024 * 1024;
const DEFAULT_TOTAL_BYTES = 256 * 1024 * 1024;

/**
 * Artifacts in memory, gone with the process; one takes at most 64 MiB. Throws `ERR_CONFIG` for options that it does not
 * know.
 *
 * @example
 * ```ts
 * import { memoryArtifacts } from "portcullis";
 * const artifacts = memoryArtifacts({ maxTotalBytes: 32 * 1024 * 1024 });
 * ```
 */
export function memoryArtifacts(options: MemoryArtifactsOptions = {}): ArtifactStore {
  checkOptions(options, rules, { action: "keep artifacts in memory", code: "ERR_CONFIG" });
  return new MemoryArtifacts(options);
}

interface Stored {
  readonly ref: ArtifactRef;
  readonly bytes: Uint8Array;
}

class MemoryArtifacts implements ArtifactStore {
  readonly maxTotalBytes: number;
  readonly #quota: Quota;
  readonly #stored = new Map<string, Stored>();
  #isClosed = false;

  constructor({ maxTotalBytes = DEFAULT_TOTAL_BYTES }: MemoryArtifactsOptions) {
    this.maxTotalBytes = maxTotalBytes;
    this.#quota = new Quota(maxTotalBytes);
  }

  async create(options: { readonly mediaType: string; readonly maxBytes?: number }): Promise<ArtifactWriter> {
    this.#checkOpen();
    checkMediaType(options.mediaType);
    const maxBytes = Math.min(options.maxBytes ?? MAX_BYTES, MAX_BYTES);
    return new MemoryWriter(this.#quota, maxBytes, (bytes) => this.#keep(bytes, options.mediaType));
  }

  async stat(sha256: string): Promise<ArtifactRef | undefined> {
    this.#checkOpen();
    checkSha256(sha256);
    return this.#stored.get(sha256)?.ref;
  }

  async read(
    sha256: string,
    { offset = 0, length = Infinity }: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    checkSha256(sha256);
    return this.#stored.get(sha256)?.bytes.slice(offset, offset + length);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stored.clear();
  }

  async #keep(bytes: Uint8Array<ArrayBuffer>, mediaType: string): Promise<ArtifactRef> {
    const sha256 = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
    this.#checkOpen();
    const known = this.#stored.get(sha256);
    if (known !== undefined) {
      this.#quota.give(bytes.length);
      return known.ref;
    }
    const ref: ArtifactRef = Object.freeze({ sha256, bytes: bytes.length, mediaType });
    this.#stored.set(sha256, { ref, bytes });
    return ref;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedStore();
  }
}

class MemoryWriter implements ArtifactWriter {
  readonly #quota: Quota;
  readonly #maxBytes: number;
  readonly #keep: (bytes: Uint8Array<ArrayBuffer>) => Promise<ArtifactRef>;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #state: "open" | "failed" | "ended" = "open";

  constructor(quota: Quota, maxBytes: number, keep: (bytes: Uint8Array<ArrayBuffer>) => Promise<ArtifactRef>) {
    this.#quota = quota;
    this.#maxBytes = maxBytes;
    this.#keep = keep;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#state !== "open") throw endedWriter();
    try {
      const total = this.#bytes + bytes.length;
      if (total > this.#maxBytes) throw tooLarge("artifact", total, this.#maxBytes);
      this.#quota.take(bytes.length);
    } catch (error) {
      this.#state = "failed";
      throw error;
    }
    this.#bytes += bytes.length;
    this.#chunks.push(bytes.slice());
  }

  async commit(): Promise<ArtifactRef> {
    if (this.#state !== "open") throw endedWriter();
    this.#state = "ended";
    const whole = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    this.#chunks = [];
    try {
      return await this.#keep(whole);
    } catch (error) {
      this.#quota.give(this.#bytes);
      throw error;
    }
  }

  async abort(): Promise<void> {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#chunks = [];
    this.#quota.give(this.#bytes);
  }
}
