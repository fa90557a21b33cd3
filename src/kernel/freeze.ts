/**
 * Freezes a JSON value and all it holds, level by level; what is frozen already counts as done with all it holds. False,
 * and half done, when it is nested more deeply than `maxDepth` levels.
 */
export function freezeAll(root: object, maxDepth: number): boolean {
  let level: object[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= maxDepth) return false;
    const next: object[] = [];
    for (const value of level) {
      if (Object.isFrozen(value)) continue;
      for (const member of Object.values(value) as unknown[]) {
        if (typeof member === "object" && member !== null) next.push(member);
      }
      Object.freeze(value);
    }
    level = next;
  }
  return true;
}
