import type { Scrubber, TextScrub } from "./scrubber.ts";

/** What stands in the place of a text that a scrubber failed on. */
export const WITHHELD = "[withheld: a scrubber failed]";

export interface WithholdingOptions {
  /** Takes out the host's known secrets, and never fails. */
  readonly known: Scrubber;
  /** Told of the first failure, then of the tenth, the hundredth ... */
  readonly onError: (error: unknown) => void;
  /**
   * Members of a record whose values need `known` only, where everything else fails on them: our own words and ids,
   * without which a record could not be told from others.
   */
  readonly keep: ReadonlySet<string>;
}

const MAX_DEPTH = 100;
/** A word of ours or an id; never prose. */
const WORD = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * A scrubber that never fails where `scrubber` may: each text that it fails on is withheld whole. For logs, statuses and
 * errors, which have to be written whatever becomes of their texts.
 */
export function withholding(scrubber: Scrubber, options: WithholdingOptions): Scrubber {
  return new Withholding(scrubber, options);
}

class Withholding implements Scrubber {
  readonly #scrubber: Scrubber;
  readonly #options: WithholdingOptions;
  #failures = 0;

  constructor(scrubber: Scrubber, options: WithholdingOptions) {
    this.#scrubber = scrubber;
    this.#options = options;
  }

  text(text: string): string {
    return this.#attempt(() => this.#scrubber.text(text)) ?? WITHHELD;
  }

  value<T>(value: T): T {
    if (value === undefined) return value;
    return this.#attempt(() => this.#scrubber.value(value)) ?? (this.#deep(value, "", 0) as T);
  }

  stream(): TextScrub {
    const stream = this.#attempt(() => this.#scrubber.stream());
    let isOver = false;
    const next = (scrub: (of: TextScrub) => string): string => {
      // What follows a failure may be the rest of a secret.
      if (isOver) return "";
      const text = stream && this.#attempt(() => scrub(stream));
      isOver = text === undefined;
      return text ?? WITHHELD;
    };
    return { push: (text) => next((of) => of.push(text)), end: () => next((of) => of.end()) };
  }

  #attempt<T>(scrub: () => T): T | undefined {
    try {
      return scrub();
    } catch (error) {
      if (/^10*$/.test(String(++this.#failures))) this.#options.onError(error);
      return undefined;
    }
  }

  /**
   * Text by text, so that one that cannot be scrubbed takes no other with it. The names of the outermost members are
   * the writer's own; deeper ones whose names fail are left out.
   */
  #deep(value: unknown, key: string, depth: number): unknown {
    if (typeof value === "string") {
      const isKept = depth === 1 && this.#options.keep.has(key) && WORD.test(value);
      return this.#attempt(() => this.#scrubber.text(value)) ?? (isKept ? this.#options.known.text(value) : WITHHELD);
    }
    if (typeof value === "number" || typeof value === "bigint") return this.#options.known.value(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return WITHHELD;
    if (Array.isArray(value)) return value.map((item) => this.#deep(item, "", depth + 1));
    const copy: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value)) {
      if (name === "__proto__") continue;
      const clean = this.#attempt(() => this.#scrubber.text(name)) ??
        (depth === 0 ? this.#options.known.text(name) : undefined);
      if (clean !== undefined) copy[clean] = this.#deep(member, name, depth + 1);
    }
    return copy;
  }
}
