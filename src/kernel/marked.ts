/**
 * A text that no peer can know. What a value cannot hold while it is JSON text stands in it as a string that begins with
 * this, and is put in its place afterwards.
 */
export function newNonce(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-") + ":";
}

/** Where a value stands in a larger one: keys and indices from the outside in. */
export type Path = readonly string[];

/**
 * Replaces every string that begins with `nonce`, in place, by what `replace` makes of its rest. `value` is fresh from
 * `JSON.parse`, so that `__proto__` is a member like others; recursion is as deep as it is. `path` is lent until `replace`
 * returns.
 */
export function replaceMarked(value: unknown, nonce: string, replace: (rest: string, path: Path) => unknown): unknown {
  const path: string[] = [];
  const walk = (each: unknown): unknown => {
    if (typeof each === "string") return each.startsWith(nonce) ? replace(each.slice(nonce.length), path) : each;
    if (typeof each !== "object" || each === null) return each;
    for (const key of Object.keys(each)) {
      const member = (each as Record<string, unknown>)[key];
      if (typeof member !== "string" && typeof member !== "object") continue;
      path.push(key);
      const made = walk(member);
      path.pop();
      if (made !== member) (each as Record<string, unknown>)[key] = made;
    }
    return each;
  };
  return walk(value);
}
