import type { AskHandlers } from "../client/asks.ts";
import type { Client } from "../client/client.ts";
import { type Root, tellRootsChanged } from "../client/roots.ts";
import type { EventInput } from "../events/event.ts";
import type { InputAction, KnownEventInput } from "../events/payloads.ts";
import { whenAborted } from "../kernel/abort.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Ids } from "../kernel/ids.ts";

/** Gives the places that servers may work in. */
export type GiveRoots = (
  context: { readonly server: string; readonly signal: AbortSignal },
) => readonly Root[] | Promise<readonly Root[]>;

/**
 * Roots as one connection gives them to a server that asks for them on its own. What is given is in the log first; the
 * same again is not written again.
 */
export function loggedRoots(
  server: string,
  give: GiveRoots,
  ids: Ids,
  append: (events: readonly EventInput[]) => Promise<unknown>,
): NonNullable<AskHandlers["roots"]> {
  let last: string | undefined;
  const log = async (action: InputAction, given: string): Promise<void> => {
    if (given === last) return;
    const facts = { requestId: ids.next("req"), server, kind: "roots" } as const;
    await append([
      known({ type: "mcp.input.requested", payload: facts }),
      known({ type: "mcp.input.resolved", payload: { ...facts, action } }),
    ]);
    last = given;
  };
  return async ({ signal }) => {
    let roots: readonly Root[];
    try {
      roots = await give({ server, signal });
    } catch (error) {
      await log("failed", "");
      throw error;
    }
    await log("accept", canonicalJson(roots));
    return roots;
  };
}

/** Tells all servers that are connected that roots have changed. */
export class RootsNews {
  readonly #listeners = new Set<() => void>();

  /** A connection begins, until `ended` fires. What is returned takes its client; what is told before reaches it then. */
  open(ended: AbortSignal): (client: Client) => void {
    let client: Client | undefined;
    let isMissed = false;
    const listener = (): void => {
      if (client === undefined) isMissed = true;
      else tellRootsChanged(client);
    };
    if (!ended.aborted) this.#listeners.add(listener);
    whenAborted(ended, () => void this.#listeners.delete(listener));
    return (connected) => {
      client = connected;
      if (isMissed) tellRootsChanged(connected);
    };
  }

  tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function known(event: KnownEventInput): EventInput {
  return event;
}
