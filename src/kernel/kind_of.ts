/** What a value is, in words that never show it: a misplaced value may be a secret. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return value === "" ? "an empty string" : "a string";
    case "object":
      return "an object";
    case "number":
    case "boolean":
      return String(value);
    case "undefined":
      return "undefined";
    default:
      return `a ${typeof value}`;
  }
}
