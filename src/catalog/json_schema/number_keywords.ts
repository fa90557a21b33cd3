import type { Check } from "./node.ts";
import type { Place } from "./place.ts";

// Keywords that look at numbers. A builder gives `undefined` where its keyword asks for nothing.

export function minimum(place: Place): Check | undefined {
  const least = place.number("minimum");
  return least === undefined
    ? undefined
    : forNumbers("minimum", (value) => value >= least, `is too small, wanted at least ${least}`);
}

export function maximum(place: Place): Check | undefined {
  const most = place.number("maximum");
  return most === undefined
    ? undefined
    : forNumbers("maximum", (value) => value <= most, `is too large, wanted at most ${most}`);
}

export function exclusiveMinimum(place: Place): Check | undefined {
  const bound = place.number("exclusiveMinimum");
  return bound === undefined
    ? undefined
    : forNumbers("exclusiveMinimum", (value) => value > bound, `is too small, wanted more than ${bound}`);
}

export function exclusiveMaximum(place: Place): Check | undefined {
  const bound = place.number("exclusiveMaximum");
  return bound === undefined
    ? undefined
    : forNumbers("exclusiveMaximum", (value) => value < bound, `is too large, wanted less than ${bound}`);
}

export function multipleOf(place: Place): Check | undefined {
  const divisor = place.read("multipleOf", (value): value is number => typeof value === "number" && value > 0);
  return divisor === undefined
    ? undefined
    : forNumbers("multipleOf", (value) => isMultiple(value, divisor), `is no multiple of ${divisor}`);
}

/** Integers that a double cannot hold come as big ones. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function forNumbers(keyword: string, test: (value: number | bigint) => boolean, fault: string): Check {
  return (value, run) => !isNumber(value) || test(value) || run.fail(keyword, () => fault);
}

/** Exact for what the two numbers are as decimal texts, which binary division is not. */
function isMultiple(value: number | bigint, divisor: number): boolean {
  if (typeof value === "number" && Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) {
    return value % divisor === 0;
  }
  const [digits, exponent] = decimal(value);
  const [divisorDigits, divisorExponent] = decimal(divisor);
  const shift = exponent - divisorExponent;
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
}

function decimal(value: number | bigint): readonly [digits: bigint, exponent: number] {
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}
