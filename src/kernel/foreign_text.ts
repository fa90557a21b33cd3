/** Longest text of somebody else's that a message or a warning of ours carries. */
const MAX_LENGTH = 4096;

/**
 * A text of somebody else's for whoever shows it, who scrubs it before cutting it: it is whole, since half a secret would
 * pass a scrubber, and what is too long for that is left out whole.
 */
export function wholeText(text: string): string {
  return text.length <= MAX_LENGTH ? text : `[${text.length} characters]`;
}
