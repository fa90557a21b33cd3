import type { Client, ServerFacts } from "../client/client.ts";
import { keepListening, type ListenOptions, type SubscriptionFilter } from "../client/listen.ts";

export const TOOLS_CHANGED = "notifications/tools/list_changed";

/** How the changes of a server are followed. */
export interface ChangesOptions extends Pick<ListenOptions, "clock" | "random" | "signal"> {
  /** There may have been changes that nobody was told of. */
  readonly onMissed: () => void;
  readonly onWarning: (kind: string, excerpt: string | undefined) => void;
}

/**
 * Subscribes to the changes of a server that tells of them only then; what it tells arrives where all notifications do.
 * Nothing waits for the server's consent: what changes between the list and that is looked for afterwards.
 */
export function followChanges(
  client: Client,
  { onMissed, onWarning, ...options }: ChangesOptions,
): { readonly onListed: () => void } {
  const filter = filterOf(client.facts);
  let isListed = false;
  if (filter !== undefined) {
    void keepListening(client, filter, {
      ...options,
      onListening: (honoured, again) => {
        const refused = Object.keys(filter).filter((kind) => honoured[kind as keyof SubscriptionFilter] !== true);
        if (refused.length > 0) onWarning("not_subscribed", refused.join(", "));
        if (refused.length < Object.keys(filter).length && (again || isListed)) onMissed();
      },
    }).then((end) => {
      if (end.kind === "refused") onWarning("not_subscribed", end.error.message);
    });
  }
  return { onListed: () => isListed = true };
}

/** What to subscribe to; nothing where the server tells unasked, or has said that it tells nothing. */
function filterOf({ subscribes, capabilities }: ServerFacts): SubscriptionFilter | undefined {
  if (subscribes !== true) return undefined;
  const filter = {
    ...(capabilities.tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(capabilities.resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(capabilities.prompts?.listChanged === true ? { promptsListChanged: true } : {}),
  };
  return Object.keys(filter).length === 0 ? undefined : filter;
}
