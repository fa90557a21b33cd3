import { type ErrorCode, HostError } from "./errors.ts";
import { kindOf } from "./kind_of.ts";
import { nearestWord } from "./nearest.ts";

/** What one option may be: a test, and the words for what passes it. */
export interface OptionRule {
  readonly wanted: string;
  readonly fits: (value: unknown) => boolean;
}

/** A rule for each option that a type knows: one that is added to the type and not here does not compile. */
export type OptionRules<T> = { readonly [K in keyof T]-?: OptionRule };

/** What a refusal says beside what is wrong. */
export interface CheckedUse {
  /** What failed, as in "Cannot open a host". */
  readonly action: string;
  readonly code: Extract<ErrorCode, "ERR_CONFIG" | "ERR_INVALID_ARGUMENTS">;
  /** Options that must be there; all others may be left out or be `undefined`. */
  readonly required?: readonly string[];
}

/** Unknown options are listed beside those that there are only where these are few. */
const MAX_LISTED = 8;

/**
 * Checks an object of options that plain JavaScript may have made: each is known, and is what its rule wants. Throws an
 * error that names the option, what was found and what was wanted, and never a value.
 */
export function checkOptions<T extends object>(options: unknown, rules: OptionRules<T>, use: CheckedUse): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw refusal(use, `found ${kindOf(options)}, wanted an object of options`);
  }
  const known = rules as Readonly<Record<string, OptionRule>>;
  const given = options as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name)) throw refusal(use, unknownOption(name, Object.keys(known)));
  }
  // Every call of a tool comes by here: a list of the rules would cost more than to look at them.
  for (const name in known) {
    const { wanted, fits } = known[name]!;
    const value = given[name];
    if (value === undefined ? use.required?.includes(name) !== true : fits(value)) continue;
    throw refusal(use, value === undefined ? `"${name}" is missing, wanted ${wanted}` : isNot(name, value, wanted));
  }
}

function unknownOption(name: string, known: readonly string[]): string {
  const guess = nearestWord(name, known);
  const hint = guess !== undefined
    ? `, did you mean "${guess}"`
    : known.length <= MAX_LISTED
    ? `, wanted ${known.map((each) => `"${each}"`).join(", ")}`
    : "";
  return `unknown option ${JSON.stringify(name.slice(0, 64))}${hint}`;
}

function isNot(name: string, value: unknown, wanted: string): string {
  return `"${name}" is ${kindOf(value)}, wanted ${wanted}`;
}

function refusal({ action, code }: CheckedUse, found: string): HostError {
  return new HostError(code, `Cannot ${action}: ${found}`);
}

/** A rule of one's own. */
export function option(wanted: string, fits: (value: unknown) => boolean): OptionRule {
  return Object.freeze({ wanted, fits });
}

/** Something with certain methods, whoever made it. */
export function having(wanted: string, ...methods: readonly string[]): OptionRule {
  return option(wanted, (value) => hasMethods(value, methods));
}

export function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return typeof value === "object" && value !== null &&
    methods.every((method) => typeof (value as Readonly<Record<string, unknown>>)[method] === "function");
}

/** One of some words. */
export function oneOf(...words: readonly string[]): OptionRule {
  const wanted = words.map((word) => `"${word}"`).join(", ").replace(/, ([^,]*)$/, " or $1");
  return option(wanted, (value) => words.includes(value as string));
}

/** A whole number from `least` up. */
export function wholeFrom(least: number): OptionRule {
  return option(
    `a whole number from ${least} up`,
    (value) => Number.isSafeInteger(value) && (value as number) >= least,
  );
}

/** The longest delay that every runtime's timers can hold. */
const MAX_DELAY_MS = 2_147_483_647;

export const aText: OptionRule = option("a string", (value) => typeof value === "string");
export const aFilledText: OptionRule = option(
  "a string that is not empty",
  (value) => typeof value === "string" && value !== "",
);
export const aFlag: OptionRule = option("true or false", (value) => typeof value === "boolean");
export const aFunction: OptionRule = option("a function", (value) => typeof value === "function");
export const aList: OptionRule = option("a list", Array.isArray);
export const anObject: OptionRule = option(
  "an object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);
export const texts: OptionRule = option(
  "a list of strings",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
);
export const aSignal: OptionRule = option("an AbortSignal", (value) => value instanceof AbortSignal);
export const aDelay: OptionRule = option(
  `a number of milliseconds above 0, at most ${MAX_DELAY_MS}`,
  (value) => typeof value === "number" && value > 0 && value <= MAX_DELAY_MS,
);
