/**
 * JSON text as `JSON.stringify` writes it, with each bigint as the number that it is. `undefined` where there is none, as
 * for a function. Throws what `JSON.stringify` throws, for a cycle.
 */
export function exactJson(value: unknown, indent?: number): string | undefined {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    // A bigint, or a cycle, which is thrown for once more below.
  }
  // Nobody whose text may be in the value can know it.
  const mark = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const marked = (_name: string, member: unknown): unknown => typeof member === "bigint" ? `${mark}:${member}` : member;
  return JSON.stringify(value, marked, indent).replaceAll(new RegExp(`"${mark}:(-?\\d+)"`, "g"), "$1");
}
