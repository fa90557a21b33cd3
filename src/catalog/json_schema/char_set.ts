/**
 * A set of characters: a bit for each of ASCII, one for all other white space together, one for all that is left. Two
 * sets that share a bit may have a character in common; two that share none have not.
 */
export const NONE = 0n;

const OTHER_SPACE = 1n << 128n;
const OTHER_REST = 1n << 129n;
const ASCII: string = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).join("");
const BITS: readonly bigint[] = Array.from({ length: 128 }, (_, code) => 1n << BigInt(code));

/** Neither negated nor with anything in it that may reach beyond ASCII. */
const ASCII_ONLY = /^(?:\\[dwnrtfv]|\\[!-/:-@[-`{-~]|[ -[\]-~]|\[(?!\^)(?:\\[dwnrtfv]|\\[!-/:-@[-`{-~]|[ -[^-~])*\])?$/;

/** Negated, with all white space among what is left out. */
const NO_SPACE = /^(?:\\S$|\[\^(?:[^\\]|\\[^s])*\\s)/;

/** The characters that a single atom of a pattern matches. The engine itself is asked, so that both always agree. */
export function charsOf(atom: string, flags: string): bigint {
  const literal = /^\\?([!-/:-@[-`{-~])$|^([A-Za-z0-9])$/.exec(atom);
  if (literal !== null && atom !== ".") return BITS[(literal[1] ?? literal[2]!).charCodeAt(0)]!;
  let chars = beyondAscii(atom);
  const expression = new RegExp(atom, flags);
  for (let code = 0; code < ASCII.length; code++) if (expression.test(ASCII[code]!)) chars |= BITS[code]!;
  return chars;
}

/** Whether no character is in both. */
export function isDisjoint(a: bigint, b: bigint): boolean {
  return (a & b) === NONE;
}

function beyondAscii(atom: string): bigint {
  if (NO_SPACE.test(atom)) return OTHER_REST;
  if (atom === "." || !ASCII_ONLY.test(atom.replaceAll("\\s", ""))) return OTHER_SPACE | OTHER_REST;
  return atom.includes("\\s") ? OTHER_SPACE : NONE;
}
