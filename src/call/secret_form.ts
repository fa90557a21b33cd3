import type { JsonObject } from "../protocol/model.ts";

/**
 * Words for what a form must not ask for (client/elicitation, security). Narrower than the words by which variables are
 * taken for secrets: a form may well ask for the key of an issue or a session to attend.
 */
const SECRET =
  /pass(?:word|wd|phrase|code)|secret|token|credential|(?:api|access|private|signing)[ _-]?key|card[ _-]?number|(?:^|[^a-z])(?:pwd|pin|cvv|cvc|otp)(?:$|[^a-z])/i;

/** Names of the text fields of a form that ask for a secret, by their name or their title. */
export function secretFields(schema: JsonObject): string[] {
  const fields = Object.entries((schema["properties"] ?? {}) as Record<string, Record<string, unknown>>);
  return fields.filter(([name, { type, title, format }]) =>
    type === "string" && (format === "password" || SECRET.test(spaced(name)) || SECRET.test(String(title ?? "")))
  ).map(([name]) => name);
}

/** `userPin` has the same words as `user pin`. */
function spaced(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/_/g, " ");
}
