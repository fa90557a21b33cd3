import type { KnownSecret } from "../kernel/secrets.ts";

const OPENING = "[redacted:";
const MAX_LABEL = 48;
/** From this many distinct secrets on, markers have no number. */
const MAX_NUMBER = 1024;
/** Opening, label, `#`, number, closing bracket. */
const MAX_MARKER = OPENING.length + MAX_LABEL + 1 + 4 + 1;

/**
 * The markers that one scrubber has given out. Only these are left alone when they are met again: text that merely
 * looks like a marker may hide a secret inside.
 */
export class MarkerBook {
  readonly #byValue = new Map<string, string>();
  readonly #issued = new Set<string>();

  /** Gives each secret its marker, `[redacted:<label>#n]`; one that has a marker keeps it. */
  assign(secrets: readonly KnownSecret[]): void {
    for (const { label, value } of secrets) {
      if (this.#byValue.has(value)) continue;
      const number = this.#byValue.size + 1;
      const marker = `${OPENING}${safeLabel(label, secrets)}${number > MAX_NUMBER ? "" : `#${number}`}]`;
      this.#byValue.set(value, marker);
      this.#issued.add(marker);
    }
  }

  markerOf(value: string): string {
    return this.#byValue.get(value)!;
  }

  /** The first marker of ours at or after `from`. */
  find(text: string, from: number): { readonly start: number; readonly marker: string } | undefined {
    for (let start = text.indexOf(OPENING, from); start >= 0; start = text.indexOf(OPENING, start + 1)) {
      const window = text.slice(start, start + MAX_MARKER);
      const marker = window.slice(0, window.indexOf("]") + 1);
      if (this.#issued.has(marker)) return { start, marker };
    }
    return undefined;
  }

  /** Where text that may become a marker of ours begins at the end of `text`; its length if nowhere. */
  unfinished(text: string, from: number): number {
    // A marker has one opening bracket, so only the last one can begin it.
    const start = text.lastIndexOf("[");
    if (start < from || text.length - start >= MAX_MARKER) return text.length;
    const tail = text.slice(start);
    const mayGrow = tail.length <= OPENING.length
      ? OPENING.startsWith(tail)
      : tail.startsWith(OPENING) && !tail.includes("]");
    return mayGrow ? start : text.length;
  }
}

/** A label that cannot end a marker, and that gives no secret away. */
function safeLabel(label: string, secrets: readonly KnownSecret[]): string {
  const safe = label.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, MAX_LABEL);
  return safe === "" || secrets.some(({ value }) => safe.includes(value)) ? "secret" : safe;
}
