import { charsOf, isDisjoint, NONE } from "./char_set.ts";
import { type Item, readPattern } from "./pattern_items.ts";

/** Most steps that one character of a text may cost. */
const MAX_COST = 1000;

/** Most steps that a match of bounded length may cost, where it is tried from one place only. */
const MAX_FIXED = 50_000;

/** An upper bound on work or on ways: `fixed + linear * (length of the text)`. More than linear is infinite. */
export interface Bound {
  readonly fixed: number;
  readonly linear: number;
}

/** A pattern that may be run, and what that costs. */
export interface Pattern {
  readonly expression: RegExp;
  readonly cost: Bound;
}

/**
 * What is known of a part of a pattern. The sets are those of Glushkov's construction: a part in which the next
 * character always tells which way to go (`isSettled`: strongly one-unambiguous, Brueggemann-Klein) is matched
 * by a backtracking engine in linear time, since every other way fails at that character.
 */
interface Part {
  readonly isEmptyable: boolean;
  readonly isAnchored: boolean;
  readonly isSettled: boolean;
  /** Characters that it can begin with. */
  readonly first: bigint;
  /** Characters that can come at any later place. */
  readonly later: bigint;
  /** Characters by which it can go on where it could also end. */
  readonly onward: bigint;
  /** Longest match, in characters. */
  readonly length: number;
  readonly atoms: number;
  /** Work of all its tries from one place. */
  readonly cost: Bound;
  /** Ways to match from one place. */
  readonly ends: Bound;
}

const ONE: Bound = { fixed: 1, linear: 0 };
const EMPTY: Part = {
  isEmptyable: true,
  isAnchored: false,
  isSettled: true,
  first: NONE,
  later: NONE,
  onward: NONE,
  length: 0,
  atoms: 1,
  cost: ONE,
  ends: ONE,
};

/**
 * The steps that an engine which backtracks needs at most to try an expression on a text; `undefined` where they are not
 * known to be linear in its length, and not many for each character. Of expressions that hold back-references, or
 * assertions other than `^`, `$` and `\b`, nothing is known.
 */
export function linearBound(expression: RegExp): Bound | undefined {
  const alternatives = readPattern(expression);
  if (alternatives === undefined) return undefined;
  const whole = either(alternatives.map((items) => sequence(items.map(withoutLastLoop), expression)));
  if (whole === undefined) return undefined;
  const { fixed, linear } = whole.cost;
  // Without an anchor it is tried from every place.
  const isWithin = whole.isAnchored ? fixed <= MAX_FIXED && linear <= MAX_COST : fixed <= MAX_COST && linear === 0;
  if (!isWithin) return undefined;
  return { fixed, linear: 1 + (whole.isAnchored ? linear : fixed) };
}

/** Where the last thing wanted is any number of one kind of character, the engine stops at the first try. */
function withoutLastLoop(item: Item, index: number, items: readonly Item[]): Item {
  const isLast = index === items.length - 1;
  return isLast && item.atom.kind === "char" && item.max === Infinity ? { ...item, max: item.min } : item;
}

function sequence(items: readonly Item[], expression: RegExp): Part | undefined {
  let rest: Part = EMPTY;
  for (let at = items.length - 1; at >= 0; at--) {
    const part = itemPart(items[at]!, expression);
    if (part === undefined) return undefined;
    rest = followed(part, rest);
  }
  return rest;
}

function itemPart({ atom, min, max }: Item, expression: RegExp): Part | undefined {
  let part: Part | undefined;
  if (atom.kind === "assertion") part = { ...EMPTY, isAnchored: atom.text === "^" };
  else if (atom.kind === "group") part = either(atom.alternatives.map((items) => sequence(items, expression)));
  else {
    part = { ...EMPTY, isEmptyable: false, first: charsOf(atom.text, expression.flags), length: 1 };
  }
  return part === undefined || (min === 1 && max === 1) ? part : repeat(part, min, max);
}

function followed(a: Part, b: Part): Part {
  const isParted = isDisjoint(a.onward, b.first) && (!a.isEmptyable || isDisjoint(a.first, b.first));
  const length = a.length + b.length;
  const atoms = a.atoms + b.atoms;
  const isSettled = a.isSettled && b.isSettled && isParted;
  let cost: Bound;
  let ends: Bound;
  if (isSettled) [cost, ends] = settled(length, atoms);
  else if (a.isSettled && isParted) {
    // At all ends of `a` but one the next character belongs to `a`, and `b` fails at once.
    cost = sum(a.cost, times(a.ends, { fixed: b.atoms, linear: 0 }), b.cost);
    ends = b.isEmptyable ? sum(a.ends, b.ends) : b.ends;
  } else if (a.isSettled && b.isSettled && !b.isEmptyable && isDisjoint(b.first, b.later)) {
    // No try of `b` runs past the place where the next one begins: together they pass over the text once.
    cost = sum(a.cost, times(a.ends, { fixed: b.atoms, linear: 0 }), { fixed: b.atoms, linear: b.atoms });
    ends = { fixed: 1, linear: 1 };
  } else {
    cost = sum(a.cost, times(a.ends, b.cost));
    ends = times(a.ends, b.ends);
  }
  return {
    isEmptyable: a.isEmptyable && b.isEmptyable,
    isAnchored: a.isAnchored,
    isSettled,
    first: a.isEmptyable ? a.first | b.first : a.first,
    later: a.later | b.later | b.first,
    onward: b.isEmptyable ? b.onward | b.first | a.onward : b.onward,
    length,
    atoms,
    cost,
    ends,
  };
}

function either(parts: readonly (Part | undefined)[]): Part | undefined {
  let all: Part | undefined;
  for (const part of parts) {
    if (part === undefined) return undefined;
    all = all === undefined ? part : or(all, part);
  }
  return all;
}

function or(a: Part, b: Part): Part {
  const length = Math.max(a.length, b.length);
  const atoms = a.atoms + b.atoms;
  const isSettled = a.isSettled && b.isSettled && isDisjoint(a.first, b.first) && !(a.isEmptyable && b.isEmptyable);
  const [cost, ends] = isSettled ? settled(length, atoms) : [sum(a.cost, b.cost), sum(a.ends, b.ends)];
  return {
    isEmptyable: a.isEmptyable || b.isEmptyable,
    isAnchored: a.isAnchored && b.isAnchored,
    isSettled,
    first: a.first | b.first,
    later: a.later | b.later,
    onward: a.onward | b.onward,
    length,
    atoms,
    cost,
    ends,
  };
}

function repeat(part: Part, min: number, max: number): Part | undefined {
  if (max === 0) return EMPTY;
  const isSettled = part.isSettled && !part.isEmptyable && (max === 1 || isDisjoint(part.onward, part.first));
  const length = part.length === 0 ? 0 : part.length * max;
  const atoms = part.atoms + 1;
  const bounds = isSettled ? settled(length, atoms) : counted(part, min, max);
  if (bounds === undefined) return undefined;
  return {
    isEmptyable: min === 0 || part.isEmptyable,
    isAnchored: min > 0 && part.isAnchored,
    isSettled,
    first: part.first,
    later: max === 1 ? part.later : part.later | part.first,
    onward: max === min ? part.onward : part.onward | part.first,
    length,
    atoms,
    cost: bounds[0],
    ends: bounds[1],
  };
}

/** Where one character leads one way, all work is that of passing over what matches. */
function settled(length: number, atoms: number): readonly [Bound, Bound] {
  return length * atoms <= MAX_COST
    ? [{ fixed: (length + 1) * atoms, linear: 0 }, { fixed: length + 1, linear: 0 }]
    : [{ fixed: atoms, linear: atoms }, { fixed: 1, linear: 1 }];
}

/** Repetition where each round may go several ways. Without an end it may be exponential. */
function counted(part: Part, min: number, max: number): readonly [Bound, Bound] | undefined {
  if (max > MAX_COST) return undefined;
  let cost = ONE;
  let ends: Bound = min === 0 ? ONE : { fixed: 0, linear: 0 };
  let ways = ONE;
  for (let round = 1; round <= max; round++) {
    cost = sum(cost, times(ways, part.cost));
    ways = times(ways, part.ends);
    if (round >= min) ends = sum(ends, ways);
    if (!(cost.fixed + cost.linear < Infinity)) return undefined;
  }
  return [cost, ends];
}

function sum(...bounds: readonly Bound[]): Bound {
  return bounds.reduce((a, b) => ({ fixed: a.fixed + b.fixed, linear: a.linear + b.linear }));
}

function times(a: Bound, b: Bound): Bound {
  if (a.linear > 0 && b.linear > 0) return { fixed: Infinity, linear: Infinity };
  return { fixed: a.fixed * b.fixed, linear: a.fixed * b.linear + a.linear * b.fixed };
}
