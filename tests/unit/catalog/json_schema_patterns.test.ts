import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bound, linearBound } from "../../../src/catalog/json_schema/linear_pattern.ts";
import { type Item, readPattern } from "../../../src/catalog/json_schema/pattern_items.ts";

const boundOf = (text: string, flags = "u"): Bound | undefined => linearBound(new RegExp(text, flags));

describe("patterns that are run", () => {
  it.each([
    String.raw`\S`,
    String.raw`\S+`,
    String.raw`^\s*\S.*$`,
    String.raw`^\S+\s+\S+$`,
    String.raw`^[a-z]+(-[a-z]+)*$`,
    String.raw`^[a-zA-Z0-9_-]{1,64}$`,
    String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$`,
    String.raw`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`,
    String.raw`^https?://.+$`,
    String.raw`^(GET|POST|PUT)$`,
    String.raw`^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$`,
    String.raw`^.*\.(json|ya?ml)$`,
    String.raw`^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`,
    String.raw`^-?\d+(\.\d+)?([eE][+-]?\d+)?$`,
    String.raw`^\p{Lu}\p{L}*$`,
    String.raw`^(?<year>\d{4})$|^now$`,
    "^x-",
  ])("pattern %s is linear", (text) => {
    expect(boundOf(text)).toBeDefined();
  });

  it("pattern that is only right in older syntax is judged as well", () => {
    expect(() => new RegExp(String.raw`^[\w-.]+\_$`, "u")).toThrow();
    expect(boundOf(String.raw`^[a-z-.]+\_$`, "")).toBeDefined();
    expect(boundOf(String.raw`^\u{3}$`, "")).toBeUndefined();
    expect(boundOf("^a{,3}$", "")).toBeUndefined();
  });
});

describe("patterns that are not run", () => {
  it.each([
    // Exponential.
    "^(a+)+$",
    "(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(a|ab|b)*c$",
    "^(x*)*$",
    "^(.*a){20}$",
    "^(a?){30}a{30}$",
    String.raw`^(\w+\s?)*$`,
    String.raw`^(([a-z])+.)+[A-Z]([a-z])+$`,
    String
      .raw`^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$`,
    // Polynomial.
    String.raw`\s+$`,
    "a+b",
    "f.*o",
    String.raw`^\s*\s*$`,
    "^.*.*x$",
    "^[ab]*b[ab]*c",
    "^(a*b|a)*$",
    "^a*(?:ba*)*a*c",
    String.raw`^[^@\s]+@[^@\s]+\.[^@\s]+$`,
    "^a{0,5000}a{0,5000}$",
    "^(a{1,10000}){1,10000}$",
    // Not looked into.
    String.raw`^(a)\1$`,
    "^(?=a)a$",
    "(?<=a)b",
    "^(?!x)",
    "^a{1,100000}$",
    "(".repeat(30) + "a" + ")".repeat(30),
  ])("pattern %s is not known to be linear", (text) => {
    expect(boundOf(text)).toBeUndefined();
  });
});

/** Tries a pattern as engines that backtrack do, from every place, and counts. */
class Engine {
  steps = 0;
  readonly #text: string;
  readonly #most: number;

  constructor(text: string, most: number) {
    this.#text = text;
    this.#most = most;
  }

  search(alternatives: readonly (readonly Item[])[]): boolean {
    for (let start = 0; start <= this.#text.length; start++) {
      if (this.#any(alternatives, start, () => true)) return true;
    }
    return false;
  }

  #any(alternatives: readonly (readonly Item[])[], from: number, then: (at: number) => boolean): boolean {
    return alternatives.some((items) => this.#all(items, 0, from, then));
  }

  #all(items: readonly Item[], at: number, from: number, then: (at: number) => boolean): boolean {
    const item = items[at];
    if (item === undefined) return then(from);
    return this.#repeat(item, 0, from, (to) => this.#all(items, at + 1, to, then), -1);
  }

  #repeat(item: Item, round: number, from: number, then: (at: number) => boolean, last: number): boolean {
    const goesOn = round < item.max && (round < item.min || from !== last);
    if (goesOn && this.#one(item.atom, from, (to) => this.#repeat(item, round + 1, to, then, from))) return true;
    return round >= item.min && then(from);
  }

  #one(atom: Item["atom"], from: number, then: (at: number) => boolean): boolean {
    if (++this.steps > this.#most) throw new Error(`more than ${this.#most} steps`);
    if (atom.kind === "group") return this.#any(atom.alternatives, from, then);
    if (atom.kind === "assertion") return (atom.text === "^" ? from === 0 : from === this.#text.length) && then(from);
    const character = this.#text[from];
    return character !== undefined && new RegExp(`^${atom.text}$`, "u").test(character) && then(from + 1);
  }
}

describe("bound", () => {
  const quantifier = fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?");
  const { pattern } = fc.letrec<{ pattern: string; item: string }>((tie) => ({
    item: fc.tuple(
      fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom("a", "b", "c", "[ab]", "[^a]", "."),
        tie("pattern").map((p) => `(${p})`),
      ),
      quantifier,
    ).map(([atom, times]) => atom + times),
    pattern: fc.array(fc.array(tie("item"), { minLength: 1, maxLength: 4 }).map((items) => items.join("")), {
      minLength: 1,
      maxLength: 2,
    }).map((alternatives) => alternatives.join("|")),
  }));
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });

  it("no text needs more steps than a pattern's bound says", () => {
    let judged = 0;
    fc.assert(
      fc.property(pattern, fc.boolean(), fc.boolean(), letters, letters, (inner, starts, ends, unit, rest) => {
        const expression = new RegExp(`${starts ? "^" : ""}(?:${inner})${ends ? "$" : ""}`, "u");
        const bound = linearBound(expression);
        if (bound === undefined) return;
        judged++;
        const text = unit.repeat(25) + rest;
        // Groups are steps here and not there, and the place of an anchor is tried for each character.
        const most = 8 * (bound.fixed + (bound.linear + 4) * text.length);
        const engine = new Engine(text, most);
        expect(engine.search(readPattern(expression)!)).toBe(expression.test(text));
      }),
      { numRuns: 2000 },
    );
    // About one drawn pattern in nine has a bound: 185 to 240 in 400 such runs.
    expect(judged).toBeGreaterThan(100);
  });
});
