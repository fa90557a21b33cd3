import type { SecretRegistry } from "../kernel/secrets.ts";
import { Automaton, MIN_PATTERN_LENGTH, type Pattern } from "./automaton.ts";
import { scrubDeep } from "./deep.ts";
import { MarkerBook } from "./markers.ts";
import { Replacer } from "./replacer.ts";
import type { Scrubber, TextScrub } from "./scrubber.ts";

/**
 * A scrubber that takes out the values a host knows to be secret, exactly as they are and as they stand inside a JSON
 * string. A secret that is registered later is found from then on, also by streams that are under way.
 *
 * Each distinct secret has one marker, `[redacted:<label>#n]`, for the life of the scrubber. Of two secrets where one
 * contains the other, the longer one counts; where they overlap, both go. A secret is not found across a marker.
 */
export function createScrubber(secrets: SecretRegistry): Scrubber {
  return new KnownValues(secrets);
}

class KnownValues implements Scrubber {
  readonly markers: MarkerBook = new MarkerBook();
  readonly #secrets: SecretRegistry;
  #version = -1;
  #automaton: Automaton = new Automaton([]);

  constructor(secrets: SecretRegistry) {
    this.#secrets = secrets;
  }

  text = (text: string): string => {
    const automaton = this.automaton();
    // Most texts are done here: nothing in them begins like a secret.
    if (automaton.skip(text, 0) > text.length - MIN_PATTERN_LENGTH) return text;
    const stream = new KnownValuesStream(this);
    return stream.push(text) + stream.end();
  };

  value<T>(value: T): T {
    this.automaton();
    return scrubDeep(value, this.text);
  }

  stream(): TextScrub {
    return new KnownValuesStream(this);
  }

  /** The search for everything that is registered by now. */
  automaton(): Automaton {
    if (this.#version === this.#secrets.version) return this.#automaton;
    const known = [...this.#secrets.values()];
    this.markers.assign(known);
    const patterns: Pattern[] = [];
    for (const { value } of known) {
      const marker = this.markers.markerOf(value);
      const escaped = JSON.stringify(value).slice(1, -1);
      patterns.push({ text: value, marker });
      if (escaped !== value) patterns.push({ text: escaped, marker });
    }
    this.#automaton = new Automaton(patterns);
    this.#version = this.#secrets.version;
    return this.#automaton;
  }
}

class KnownValuesStream implements TextScrub {
  readonly #owner: KnownValues;
  #automaton: Automaton;
  #replacer: Replacer;
  /** The end of the text so far, when it may be the beginning of a marker. */
  #held = "";

  constructor(owner: KnownValues) {
    this.#owner = owner;
    this.#automaton = owner.automaton();
    this.#replacer = new Replacer(this.#automaton);
  }

  push(chunk: string): string {
    const { markers } = this.#owner;
    const text = this.#held + chunk;
    let out = this.#refresh();
    let from = 0;
    for (let met = markers.find(text, from); met !== undefined; met = markers.find(text, from)) {
      // Markers stay as they are, and what stands before and behind one are texts of their own.
      out += this.#replacer.push(text.slice(from, met.start)) + this.#replacer.end() + met.marker;
      from = met.start + met.marker.length;
    }
    const end = markers.unfinished(text, from);
    this.#held = text.slice(end);
    return out + this.#replacer.push(from === 0 && end === text.length ? text : text.slice(from, end));
  }

  end(): string {
    const text = this.#refresh() + this.#replacer.push(this.#held) + this.#replacer.end();
    this.#held = "";
    return text;
  }

  /** Looks again at what is kept back when secrets have been added. */
  #refresh(): string {
    const automaton = this.#owner.automaton();
    if (automaton === this.#automaton) return "";
    const kept = this.#replacer.release();
    this.#automaton = automaton;
    this.#replacer = new Replacer(automaton);
    return this.#replacer.push(kept);
  }
}
