import { Unusable } from "./document.ts";
import type { SchemaNode } from "./node.ts";

/** Schemas in a row that lead from one to the next without going into the value. */
const MAX_CHAIN = 100;

/** How often schemas are applied to one value by one of them. */
const MAX_APPLIED = 10_000;

/**
 * Refuses schemas that never end, or that multiply, before any value is held against them: a schema that comes to itself
 * at the same value, and lists of references to lists of references, which stand for 2^30 checks in a few lines.
 * Throws `Unusable`.
 */
export function checkEnds(nodes: Iterable<SchemaNode>): void {
  const applied = new Map<SchemaNode, number>();
  const open = new Set<SchemaNode>();
  const visit = (node: SchemaNode): number => {
    const known = applied.get(node);
    if (known !== undefined) return known;
    if (open.has(node)) throw new Unusable("has a reference that comes back to itself");
    if (open.size >= MAX_CHAIN) throw new Unusable(`has more than ${MAX_CHAIN} references in a row`);
    open.add(node);
    let count = 1;
    for (const next of node.here) count += visit(next);
    if (count > MAX_APPLIED) throw new Unusable(`checks one value more than ${MAX_APPLIED} times`);
    open.delete(node);
    applied.set(node, count);
    return count;
  };
  for (const node of nodes) visit(node);
}

/** Whatever applies a doubtful schema is doubtful itself. */
export function spreadDoubt(nodes: readonly SchemaNode[]): void {
  const users = new Map<SchemaNode, SchemaNode[]>();
  for (const node of nodes) {
    for (const used of [...node.here, ...node.inside]) {
      const known = users.get(used);
      if (known === undefined) users.set(used, [node]);
      else known.push(node);
    }
  }
  const doubtful = [...users.keys(), ...nodes].filter((node) => node.isDoubtful);
  for (const node of doubtful) {
    for (const user of users.get(node) ?? []) {
      if (user.isDoubtful) continue;
      user.isDoubtful = true;
      doubtful.push(user);
    }
  }
}
