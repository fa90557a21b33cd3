/**
 * Contract cases are plain functions, free of any test framework, so that the same cases run under vitest on Node, Bun
 * and Deno and as a bundle in workerd.
 */
export interface ContractCase {
  /** Subject and claim: "file store refuses an append at the wrong seq". */
  readonly name: string;
  run(): void | Promise<void>;
}

export class AssertionFailed extends Error {
  override readonly name: string = "AssertionFailed";
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Deep equality by sorted JSON, with `undefined` members left out; bytes compare as arrays of numbers. */
export function assertEquals(actual: unknown, expected: unknown, message = "values differ"): void {
  const [a, e] = [stable(actual), stable(expected)];
  if (a !== e) throw new AssertionFailed(`${message}\n  actual:   ${a}\n  expected: ${e}`);
}

/** Runs `action`, which must fail, and returns what it threw. With `code`, its `code` must be equal to it. */
export async function assertRejects(action: () => unknown, code?: string): Promise<unknown> {
  try {
    await action();
  } catch (error) {
    if (code !== undefined) assertEquals((error as { code?: unknown }).code, code, `wrong code in: ${String(error)}`);
    return error;
  }
  throw new AssertionFailed(`expected a rejection${code === undefined ? "" : ` with ${code}`}, got none`);
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (member instanceof Uint8Array) return Array.from(member);
    if (typeof member === "bigint") return `${member}n`;
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  }) ?? "undefined";
}
