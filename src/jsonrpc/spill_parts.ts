import type { LongString } from "./spill_long.ts";
import type { LongResult } from "./spill_result.ts";
import type { Spill } from "./spill_sink.ts";

/** The name of a result that has left as a whole. */
const RESULT = "=";

interface Part {
  readonly long: LongString;
  /** Where its name stands in what has stayed. */
  readonly at: number;
}

/** What has left a message: long strings, and the result as a whole. Each has a name that stands in its place. */
export class SpillParts {
  readonly #parts: Part[] = [];
  #result: LongResult | undefined;
  /** The long strings that had left the result when it left itself. */
  #inResult: readonly Part[] = [];

  /** How many long strings have left. */
  get size(): number {
    return this.#parts.length;
  }

  /** The result that has left, if it has. */
  get result(): LongResult | undefined {
    return this.#result;
  }

  /** Takes a long string on whose name will stand there, and gives the name. */
  add(long: LongString, at: number): string {
    return String(this.#parts.push({ long, at }) - 1);
  }

  /** Takes the result on, which begins there, and gives its name. */
  addResult(result: LongResult, from: number): string {
    this.#result = result;
    this.#inResult = this.#parts.filter(({ at }) => at > from);
    return RESULT;
  }

  /** What is to be read in the result for long strings that had left it: the place of a name, its length, and the text. */
  notes(): { readonly at: number; readonly length: number; readonly text: string }[] {
    let kept = 0;
    return this.#inResult.map((part) => {
      const { long, at } = part;
      const length = String(this.#parts.indexOf(part)).length;
      if (long.writer === undefined) return { at, length, text: long.head };
      // No part of it: a secret may be cut at the end of its beginning.
      return { at, length, text: `[... ${long.bytes} bytes left out, kept apart as long text ${++kept} ...]` };
    });
  }

  /** The value for a name that was found at a place, and what has to be closed or aborted for it. */
  take(name: string, pointer: string): { readonly value: unknown; readonly spills: readonly Spill[] } {
    if (name !== RESULT) {
      const { long } = this.#parts[Number(name)]!;
      return { value: long.head, spills: spillOf(long, pointer) };
    }
    const { writer, bytes } = this.#result!;
    const whole: Spill[] = writer === undefined ? [] : [{ pointer, bytes, writer, isWhole: true }];
    const inIt = this.#inResult.flatMap(({ long }) => spillOf(long, pointer));
    return { value: this.#result!.members(), spills: [...whole, ...inIt] };
  }

  /** All that were opened. */
  writers(): Pick<Spill, "writer">[] {
    const all = [this.#result, ...this.#parts.map(({ long }) => long)];
    return all.flatMap((each) => each?.writer === undefined ? [] : [{ writer: each.writer }]);
  }

  clear(): void {
    this.#parts.length = 0;
    this.#inResult = [];
    this.#result = undefined;
  }
}

function spillOf({ writer, bytes }: LongString, pointer: string): Spill[] {
  return writer === undefined ? [] : [{ pointer, bytes, writer }];
}
