/** Names stored content. Two equal contents have equal references. */
export interface ArtifactRef {
  /** Lower-case hex SHA-256 of the stored bytes. */
  readonly sha256: string;
  readonly bytes: number;
  readonly mediaType: string;
}

/**
 * Full outputs, content-addressed.
 *
 * What an implementation promises: content is immutable; committing equal content twice stores it once; nothing is
 * visible before `commit` resolves; `open` and `stat` of an unknown name give `undefined`; names are checked to be 64
 * hex digits before they touch anything; any number of callers at once. What is stored was scrubbed by the caller.
 */
export interface ArtifactStore {
  /** Most bytes that all artifacts may take; a writer that would pass it fails with `ERR_TOO_LARGE`. */
  readonly maxTotalBytes: number;
  create(options: { readonly mediaType: string; readonly maxBytes?: number }): Promise<ArtifactWriter>;
  stat(sha256: string): Promise<ArtifactRef | undefined>;
  /** Up to `length` bytes from `offset`; fewer at the end. `undefined` for an unknown name. */
  read(
    sha256: string,
    options?: { readonly offset?: number; readonly length?: number },
  ): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** One artifact being written by one caller. Exactly one of `commit` and `abort` ends it. */
export interface ArtifactWriter {
  /** A promise asks the caller to wait. Rejects with `ERR_TOO_LARGE` past a limit; then only `abort` may follow. */
  write(bytes: Uint8Array): void | Promise<void>;
  commit(): Promise<ArtifactRef>;
  /** Leaves nothing behind. Never rejects. */
  abort(): Promise<void>;
}
