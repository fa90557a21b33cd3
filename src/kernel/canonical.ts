/**
 * JSON text with sorted keys and no white space, so that equal values give equal bytes whatever order their keys were
 * written in. Members that are `undefined` are left out. Values must be JSON values: no cycles, no functions; big integers
 * are numbers.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const record = value as Record<string, unknown>;
  const members: string[] = [];
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

/** `sha256:` and the lower-case hex digest of the text's UTF-8 bytes. */
export async function sha256Text(text: string): Promise<string> {
  return `sha256:${toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))))}`;
}

/** Lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += (byte < 16 ? "0" : "") + byte.toString(16);
  return text;
}
