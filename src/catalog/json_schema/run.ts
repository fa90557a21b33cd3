import type { Pattern } from "./linear_pattern.ts";

/** One thing that is wrong with a value. Neither text quotes the value; the path holds names of its members. */
export interface SchemaError {
  /** JSON Pointer of the part that is wrong; empty for the whole value. */
  readonly instancePath: string;
  readonly keyword: string;
  /** What was found and what was wanted, to stand after the path: `is a string, wanted an integer`. */
  readonly message: string;
}

/** Ends a validation that costs more than it may. */
export class OutOfSteps extends Error {}

/** The resources whose schemas are being applied, innermost first. */
interface Scope<R> {
  readonly resource: R;
  readonly outer: Scope<R> | undefined;
}

/** A step of an expression engine is a small one. */
const PATTERN_STEPS = 16;
const MAX_ERRORS = 10;
const MAX_NAME = 80;
const MAX_PATH = 200;

/**
 * Levels of schemas applied inside one another: values of 64 levels with several schemas for each. It keeps the stack
 * from overflowing, which counted steps alone would not.
 */
const MAX_NESTING = 400;

/** What one validation has used up and found so far. `R` is what schemas with one identifier have in common. */
export class Run<R extends object = object> {
  readonly #maxSteps: number;
  readonly #path: (string | number)[] = [];
  #steps = 0;
  #nesting = 0;
  #scope: Scope<R> | undefined;
  /** Absent while only the verdict is wanted: then the first fault ends the work. */
  #errors: SchemaError[] | undefined;

  constructor(maxSteps: number, errors?: SchemaError[]) {
    this.#maxSteps = maxSteps;
    this.#errors = errors;
  }

  /** Whether there is reason to go on after a fault. */
  get goesOn(): boolean {
    return this.#errors !== undefined && this.#errors.length < MAX_ERRORS;
  }

  /** Counts work. Whatever a schema or a value can multiply has to pass here. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#maxSteps) throw new OutOfSteps();
  }

  /** Whether a text matches a pattern that is known to be linear. */
  matches({ expression, cost }: Pattern, text: string): boolean {
    this.spend(1 + Math.ceil((cost.fixed + cost.linear * text.length) / PATTERN_STEPS));
    try {
      return expression.test(text);
    } catch {
      // The engine has no room left to remember where it came from: the text is too long for it.
      throw new OutOfSteps();
    }
  }

  /** Notes a fault at the current place; always false. */
  fail(keyword: string, message: () => string): false {
    if (this.goesOn) this.#errors!.push({ instancePath: pointerTo(this.#path), keyword, message: message() });
    return false;
  }

  /** Runs `check` for what is under `key`. */
  at(key: string | number, check: () => boolean): boolean {
    this.#path.push(key);
    const isValid = check();
    this.#path.pop();
    return isValid;
  }

  /** Runs `check` without letting its faults count; `faults` gets the first of them where faults are wanted at all. */
  attempt(check: () => boolean, faults?: SchemaError[]): boolean {
    const errors = this.#errors;
    this.#errors = errors === undefined || faults === undefined ? undefined : [];
    const isValid = check();
    const first = this.#errors?.[0];
    if (!isValid && first !== undefined) faults!.push(first);
    this.#errors = errors;
    return isValid;
  }

  /** Runs the checks of one schema of `resource`. */
  within(resource: R, check: () => boolean): boolean {
    this.spend(1);
    if (++this.#nesting > MAX_NESTING) throw new OutOfSteps();
    const scope = this.#scope;
    if (scope?.resource !== resource) this.#scope = { resource, outer: scope };
    const isValid = check();
    this.#scope = scope;
    this.#nesting--;
    return isValid;
  }

  /** The outermost resource that `has` holds for. */
  outermost<T>(has: (resource: R) => T | undefined): T | undefined {
    let found: T | undefined;
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      this.spend(1);
      found = has(scope.resource) ?? found;
    }
    return found;
  }
}

/** Names are shown whole or not at all: half of one might be half a secret, which nobody would know for one. */
function pointerTo(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const key of path) {
    const name = String(key).replaceAll("~", "~0").replaceAll("/", "~1");
    if (pointer.length + name.length > MAX_PATH) return `${pointer}/...`;
    pointer += `/${name.length > MAX_NAME ? "..." : name}`;
  }
  return pointer;
}
