/** A text to look for, and what takes its place. */
export interface Pattern {
  readonly text: string;
  readonly marker: string;
}

/** A node of the trie: what has been matched so far. */
export interface State {
  readonly depth: number;
  /** Where to go on when the next character does not fit: the longest suffix that is also the beginning of a pattern. */
  fail: State | undefined;
  /** The longest pattern that ends here. */
  found: Pattern | undefined;
  /** Most states have one way on; only those with more have a map. */
  character: number;
  next: State | undefined;
  branches: Map<number, State> | undefined;
}

/** No pattern is shorter; the skip table relies on it. */
export const MIN_PATTERN_LENGTH = 8;
/** A pair of characters is one entry of the skip table. */
const PAIR = 2;

/**
 * Finds any number of texts in one pass (Aho-Corasick). While nothing is being matched it looks at pairs of characters
 * only and jumps over those that no pattern has near its beginning (Wu-Manber), which is most of ordinary text.
 */
export class Automaton {
  readonly root: State = newState(0);
  readonly #skips: Uint8Array;
  readonly #mask: number;

  constructor(patterns: readonly Pattern[]) {
    for (const pattern of patterns) this.#add(pattern);
    this.#link();
    this.#mask = patterns.length > 100 ? 0xffff : 0xfff;
    this.#skips = new Uint8Array(this.#mask + 1).fill(MIN_PATTERN_LENGTH - PAIR + 1);
    for (const { text } of patterns) {
      for (let end = PAIR - 1; end < MIN_PATTERN_LENGTH; end++) {
        const pair = hash(text.charCodeAt(end - 1), text.charCodeAt(end)) & this.#mask;
        this.#skips[pair] = Math.min(this.#skips[pair]!, MIN_PATTERN_LENGTH - 1 - end);
      }
    }
  }

  /** The first place at or after `from` where a pattern may begin, as far as whole beginnings fit into the text. */
  skip(text: string, from: number): number {
    const skips = this.#skips;
    const mask = this.#mask;
    let end = from + MIN_PATTERN_LENGTH - 1;
    while (end < text.length) {
      const step = skips[hash(text.charCodeAt(end - 1), text.charCodeAt(end)) & mask]!;
      if (step === 0) break;
      end += step;
    }
    return Math.min(end - MIN_PATTERN_LENGTH + 1, text.length);
  }

  step(state: State, character: number): State {
    for (let at: State | undefined = state; at !== undefined; at = at.fail) {
      if (at.character === character) return at.next!;
      const next = at.branches?.get(character);
      if (next !== undefined) return next;
    }
    return this.root;
  }

  #add(pattern: Pattern): void {
    let state = this.root;
    for (let at = 0; at < pattern.text.length; at++) {
      const character = pattern.text.charCodeAt(at);
      let next = child(state, character);
      if (next === undefined) {
        next = newState(state.depth + 1);
        if (state.next === undefined) {
          state.character = character;
          state.next = next;
        } else (state.branches ??= new Map()).set(character, next);
      }
      state = next;
    }
    state.found ??= pattern;
  }

  #link(): void {
    const queue: State[] = [this.root];
    for (let at = 0; at < queue.length; at++) {
      const state = queue[at]!;
      for (const [character, next] of children(state)) {
        next.fail = state === this.root ? this.root : this.step(state.fail!, character);
        next.found ??= next.fail.found;
        queue.push(next);
      }
    }
  }
}

function newState(depth: number): State {
  return { depth, fail: undefined, found: undefined, character: -1, next: undefined, branches: undefined };
}

function child(state: State, character: number): State | undefined {
  return state.character === character ? state.next : state.branches?.get(character);
}

function children(state: State): [number, State][] {
  const first: [number, State][] = state.next === undefined ? [] : [[state.character, state.next]];
  return state.branches === undefined ? first : [...first, ...state.branches];
}

function hash(a: number, b: number): number {
  return (a * 67) ^ b ^ (b << 6);
}
