import { type Automaton, MIN_PATTERN_LENGTH, type Pattern, type State } from "./automaton.ts";

interface Match {
  readonly start: number;
  readonly end: number;
  readonly pattern: Pattern;
}

/**
 * Replaces patterns in text that arrives in pieces. Where matches overlap, all of them go; where one lies inside
 * another, the longer one counts. It keeps back only what may still become part of a match.
 */
export class Replacer {
  readonly #automaton: Automaton;
  #state: State;
  /** Text that has not been passed on. Offsets below are places in it. */
  #held = "";
  /** Everything before this has been looked at. */
  #at = 0;
  /** Up to here the text is covered by a marker that was passed on. */
  #covered = 0;
  /** The pattern of that marker. */
  #last: Pattern | undefined;
  /** Ascending in start and end. */
  #matches: Match[] = [];

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
    this.#state = automaton.root;
  }

  push(text: string): string {
    this.#held = this.#held === "" ? text : this.#held + text;
    this.#scan();
    return this.#pass(this.#at - this.#state.depth);
  }

  end(): string {
    const text = this.#pass(this.#at);
    this.#state = this.#automaton.root;
    this.#last = undefined;
    return text;
  }

  /** Gives back what is kept, unchanged, without what a marker already stands for; this replacer is done then. */
  release(): string {
    return this.#held.slice(this.#covered);
  }

  #scan(): void {
    const automaton = this.#automaton;
    const text = this.#held;
    const root = automaton.root;
    let state = this.#state;
    let at = this.#at;
    while (at < text.length) {
      if (state === root && text.length - at >= MIN_PATTERN_LENGTH) {
        at = automaton.skip(text, at);
        if (at >= text.length) break;
      }
      state = automaton.step(state, text.charCodeAt(at++));
      if (state.found !== undefined) this.#add(state.found, at);
    }
    this.#state = state;
    this.#at = at;
  }

  #add(pattern: Pattern, end: number): void {
    const start = end - pattern.text.length;
    while (this.#matches.length > 0 && this.#matches.at(-1)!.start >= start) this.#matches.pop();
    this.#matches.push({ start, end, pattern });
  }

  /** Passes on what can no longer become part of a match: those to come begin at `horizon` or later. */
  #pass(horizon: number): string {
    const text = this.#held;
    if (this.#matches.length === 0 && this.#covered === 0) {
      // The usual case: nothing found, perhaps a beginning at the end.
      this.#cut(horizon);
      return horizon === text.length ? text : text.slice(0, horizon);
    }
    let out = "";
    let settled = 0;
    for (const { start, end, pattern } of this.#matches) {
      if (start >= horizon) break;
      settled++;
      if (start > this.#covered) out += text.slice(this.#covered, start);
      // A text that overlaps itself gets one marker, not one for each turn.
      if (start >= this.#covered || pattern.marker !== this.#last?.marker) out += pattern.marker;
      this.#covered = end;
      this.#last = pattern;
    }
    this.#matches.splice(0, settled);
    const clean = Math.min(horizon, this.#matches[0]?.start ?? horizon);
    if (clean > this.#covered) {
      out += text.slice(this.#covered, clean);
      this.#covered = clean;
    }
    this.#cut(clean);
    return out;
  }

  #cut(length: number): void {
    if (length === 0) return;
    this.#held = this.#held.slice(length);
    this.#at -= length;
    this.#covered = Math.max(0, this.#covered - length);
    if (this.#matches.length === 0) return;
    this.#matches = this.#matches.map(({ start, end, pattern }) => ({
      start: start - length,
      end: end - length,
      pattern,
    }));
  }
}
