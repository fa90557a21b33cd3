/**
 * Whether JSON can carry every number in a value. `1e400` is JSON and becomes infinite where it is parsed: whoever writes
 * it again writes `null`, and no two readers of it agree. Recursion is as deep as the value, which is bounded.
 */
export function isFiniteJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  for (const member of Array.isArray(value) ? value : Object.values(value)) if (!isFiniteJson(member)) return false;
  return true;
}
