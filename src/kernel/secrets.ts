/** A value the host itself holds and must never show: where it came from and what it is. */
export interface KnownSecret {
  /** What stands in the marker, such as `env.API_KEY`; never part of the value. */
  readonly label: string;
  readonly value: string;
}

/** Values shorter than this are not treated as secrets: redacting them would hit ordinary text. */
export const MIN_SECRET_LENGTH = 8;

/**
 * The secrets one host knows: from configuration, environment and tokens. It only grows; a value that was a secret
 * once stays one, since it may still be echoed later. `version` rises with each addition, so that a scrubber built
 * from an older set can tell.
 */
export class SecretRegistry {
  readonly #byValue = new Map<string, KnownSecret>();
  #version = 0;

  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#byValue.size;
  }

  /** Registers a value. Shorter ones than {@link MIN_SECRET_LENGTH} characters and known ones are ignored. */
  add(label: string, value: string): void {
    if (value.length < MIN_SECRET_LENGTH || this.#byValue.has(value)) return;
    this.#byValue.set(value, { label, value });
    this.#version++;
  }

  values(): IterableIterator<KnownSecret> {
    return this.#byValue.values();
  }
}

/** Words that mark a secret wherever they stand in a name. */
const SECRET_WORD =
  /password|passwd|passphrase|secret|tokens?(?![a-z])|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|credential|authorization|connection[_-]?string|webhook|(?:admin|db|ftp|mail|my|pg|root|smtp|sql|ssh|user)pass$/i;
/** Words that do so only by themselves: `AUTH`, but not `AUTHOR`. */
const SECRET_PART = /(?:^|[_.-])(?:auth|bearer|cookie|dsn|jwt|key|pass|pat|pwd|session)s?(?:$|[_.-])/i;
/** The working directory and the one before it. */
const NO_SECRET = /^(?:old)?pwd$/i;

/** True for names of variables, headers and members that usually hold a secret: `GITHUB_TOKEN`, `x-api-key`, `PGPASSWORD`. */
export function isSecretName(name: string): boolean {
  if (NO_SECRET.test(name)) return false;
  return SECRET_WORD.test(name) || SECRET_PART.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
}
