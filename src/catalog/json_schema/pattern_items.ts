/** One element of a pattern and how often it may stand there. */
export interface Item {
  readonly atom:
    | { readonly kind: "char"; readonly text: string }
    | { readonly kind: "assertion"; readonly text: string }
    | { readonly kind: "group"; readonly alternatives: readonly (readonly Item[])[] };
  readonly min: number;
  readonly max: number;
}

/** Largest count of a repetition. */
const MAX_COUNT = 10_000;

/** Groups inside one another. */
const MAX_GROUPS = 20;

/**
 * One element of the subset that is read: the opening of a group, `)`, `|`, an assertion, a quantifier, or what stands
 * for one character. Look-around, back-references and whatever else an engine may know are none of these.
 */
const ELEMENT =
  /(?<open>\((?:\?:|\?<[A-Za-z_]\w*>|(?!\?)))|(?<close>\))|(?<bar>\|)|(?<assertion>[\^$]|\\[bB])|(?<quantifier>[*+?]|\{(?<min>\d+)(?<comma>,(?<max>\d*))?\})\??|(?<char>\[(?:\\[^]|[^\]\\])*\]|\\(?:[dDwWsSnrtfv]|u[\da-fA-F]{4}|x[\da-fA-F]{2}|u\{[\da-fA-F]+\}|[pP]\{[\w=]+\}|[^A-Za-z0-9])|[^\\()[\]{}|*+?^$])/uy;

/**
 * The alternatives of an expression that the engine has compiled already, so that its syntax is known to be right;
 * `undefined` where it leaves the subset.
 */
export function readPattern({ source, unicode }: RegExp): Item[][] | undefined {
  // Without the flag these escapes mean something else, and characters beyond the first plane are two.
  if (!unicode && /\\[pP]|\\u\{|\P{ASCII}/u.test(source)) return undefined;
  const open: Item[][][] = [[[]]];
  ELEMENT.lastIndex = 0;
  while (ELEMENT.lastIndex < source.length) {
    const found = ELEMENT.exec(source)?.groups;
    if (found === undefined) return undefined;
    const alternatives = open.at(-1)!;
    const items = alternatives.at(-1)!;
    if (found["open"] !== undefined) {
      if (open.length > MAX_GROUPS) return undefined;
      open.push([[]]);
    } else if (found["close"] !== undefined) {
      open.pop();
      open.at(-1)?.at(-1)?.push(once({ kind: "group", alternatives }));
    } else if (found["bar"] !== undefined) alternatives.push([]);
    else if (found["assertion"] !== undefined) items.push(once({ kind: "assertion", text: found["assertion"] }));
    else if (found["char"] !== undefined) items.push(once({ kind: "char", text: found["char"] }));
    else {
      const item = items.pop();
      const [min, max] = counts(found);
      if (item === undefined || min > MAX_COUNT || (max > MAX_COUNT && max !== Infinity)) return undefined;
      items.push({ ...item, min, max });
    }
  }
  return open.length === 1 ? open[0] : undefined;
}

function once(atom: Item["atom"]): Item {
  return { atom, min: 1, max: 1 };
}

function counts(found: Readonly<Record<string, string | undefined>>): readonly [number, number] {
  switch (found["quantifier"]) {
    case "*":
      return [0, Infinity];
    case "+":
      return [1, Infinity];
    case "?":
      return [0, 1];
  }
  const min = Number(found["min"]);
  const max = found["max"];
  return [min, max === undefined ? min : max === "" ? Infinity : Number(max)];
}
