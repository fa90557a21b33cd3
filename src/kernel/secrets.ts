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

const SECRET_NAME =
  /(?:^|[_.-])(?:api[_-]?key|apikey|access[_-]?key|auth|authorization|bearer|cookie|credentials?|key|pass|passwd|password|passphrase|pat|private[_-]?key|secret|session|token)s?(?:$|[_.-])/i;

/** True for names of variables, headers and members that usually hold a secret: `GITHUB_TOKEN`, `x-api-key`. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));
}
