import { causeCode, HostError } from "../kernel/errors.ts";

/** Most characters of a media type. */
const MAX_MEDIA_TYPE = 200;

/** Throws `ERR_INVALID_ARGUMENTS` unless the name is 64 lower-case hex digits. */
export function checkSha256(sha256: string): void {
  if (/^[0-9a-f]{64}$/.test(sha256)) return;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot look up an artifact: its name has ${sha256.length} characters, wanted 64 lower-case hex digits`,
  );
}

/** Throws `ERR_INVALID_ARGUMENTS` unless it could stand in a header: printable ASCII with a slash in it. */
export function checkMediaType(mediaType: string): void {
  if (mediaType.length <= MAX_MEDIA_TYPE && /^[\x21-\x7e]+\/[\x20-\x7e]+$/.test(mediaType)) return;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot store an artifact: its media type is not of the form type/subtype in at most ${MAX_MEDIA_TYPE} ASCII characters`,
  );
}

/** The error for an artifact that passes its own limit, or with which all artifacts pass theirs. */
export function tooLarge(what: "artifact" | "store", bytes: number, maxBytes: number): HostError {
  const found = what === "artifact" ? `it has ${bytes} bytes or more` : `all artifacts would take ${bytes} bytes`;
  return new HostError("ERR_TOO_LARGE", `Cannot store an artifact: ${found}, at most ${maxBytes} are allowed`, {
    facts: { what, bytes, maxBytes },
  });
}

/** What the file system said, as one of our errors where it means that there is no room. */
export function storageError(error: unknown): unknown {
  const code = causeCode(error);
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new HostError("ERR_TOO_LARGE", `Cannot store an artifact: the disk is full (${code})`, { cause: error });
}

/** The error for a store that has been closed. */
export function closedStore(): HostError {
  return new HostError("ERR_CLOSED", "Cannot use the artifact store: it is closed");
}

/** The error for a writer that has ended. */
export function endedWriter(): HostError {
  return new HostError(
    "ERR_CLOSED",
    "Cannot write an artifact: its writer was committed, aborted, or ended by an error",
  );
}

/** What is left of a quota. Bytes count from the moment they are written, committed or not. */
export class Quota {
  readonly maxBytes: number;
  #bytes: number;

  constructor(maxBytes: number, bytes: number = 0) {
    this.maxBytes = maxBytes;
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `ERR_TOO_LARGE`, and takes nothing, when they do not fit. */
  take(bytes: number): void {
    const total = this.#bytes + bytes;
    if (total > this.maxBytes) throw tooLarge("store", total, this.maxBytes);
    this.#bytes = total;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}
