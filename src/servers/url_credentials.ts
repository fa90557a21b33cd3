/** The user that a URL names, in plain text and as HTTP sends it. */
export interface UrlCredentials {
  readonly user: string;
  readonly password: string;
  /** base64 of `user:password`, RFC 7617 */
  readonly basic: string;
}

/** `undefined` for a URL that names no user. */
export function credentialsOf(url: URL): UrlCredentials | undefined {
  if (url.username === "" && url.password === "") return undefined;
  const user = decoded(url.username);
  const password = decoded(url.password);
  return { user, password, basic: btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`))) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not percent-encoded text: it is its own plain spelling.
    return part;
  }
}
