/** A place that a server may work in (client/roots). */
export interface Root {
  /** `file:` URL, without a step to a parent in it. */
  readonly uri: string;
  readonly name?: string;
}

/** A step to the parent or a zero, in any spelling: what is below a root must not be what is beside it for somebody else. */
const STRAYING = /(?:^|\/|\\|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\?#]|%2f|%5c)|%00/i;

/** What keeps a root from being named to a server; nothing when it can be. */
export function faultOfRoot({ uri }: Root): string | undefined {
  const found = `found ${JSON.stringify(uri)}, wanted a file: URL`;
  if (typeof uri !== "string" || !uri.startsWith("file://")) return found;
  return STRAYING.test(uri) ? `${found} without steps to a parent` : undefined;
}

/** What of a client it takes to tell that roots have changed. */
export interface RootsTeller {
  readonly facts: { readonly subscribes?: boolean };
  notify(method: string): void;
}

/**
 * Tells the server that roots have changed, where its revision knows such a word; it asks for them again. For connections
 * whose handlers declare `rootsListChanged`.
 */
export function tellRootsChanged(client: RootsTeller): void {
  // Where nothing is told unasked, servers ask for roots whenever they need them.
  if (client.facts.subscribes !== true) client.notify("notifications/roots/list_changed");
}
