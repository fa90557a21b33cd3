import type { JsonObject } from "./model.ts";
import { asObject } from "./results.ts";

/** What a subscription asks to be told of (2026-07-28, server/subscriptions). What is left out is not told. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs; what lies below one of them may be told too. */
  readonly resourceSubscriptions?: readonly string[];
  /** Only where the tasks extension is declared. */
  readonly taskIds?: readonly string[];
}

/** What becomes of a notification. */
export type Admission =
  /** It belongs to no subscription: nothing here is to be said of it. */
  | "unbound"
  /** The subscription that it names has asked for it. */
  | "admitted"
  /** It opens a subscription, and means nothing to anybody else. */
  | "acknowledged"
  /** It names no open subscription, or one that has not asked for it. */
  | "foreign";

/** Hears what arrives under one subscription: its acknowledgement first. */
export type SubscriptionListener = (method: string, params: JsonObject) => void;

export const LISTEN = "subscriptions/listen";
export const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** The member of a filter that asks for each kind of notification. */
const ASKED_BY: ReadonlyMap<string, keyof SubscriptionFilter> = new Map([
  ["notifications/tools/list_changed", "toolsListChanged"],
  ["notifications/prompts/list_changed", "promptsListChanged"],
  ["notifications/resources/list_changed", "resourcesListChanged"],
  ["notifications/resources/updated", "resourceSubscriptions"],
  ["notifications/tasks", "taskIds"],
]);

interface Open {
  readonly filter: JsonObject;
  readonly listener: SubscriptionListener | undefined;
}

/** The open subscriptions of a connection, by the ids of their requests. */
export class Subscriptions {
  readonly #open = new Map<unknown, Open>();

  /** A `subscriptions/listen` with these parameters goes out under this id. */
  open(id: number, params: JsonObject | undefined, listener: SubscriptionListener | undefined): void {
    this.#open.set(id, { filter: asObject(params?.["notifications"]) ?? {}, listener });
  }

  close(id: number): void {
    this.#open.delete(id);
  }

  /** Tells the subscription that a notification names. The id must be of the very type that was sent. */
  admit(method: string, params: unknown): Admission {
    const member = ASKED_BY.get(method);
    if (member === undefined && method !== ACKNOWLEDGED) return "unbound";
    const given = asObject(params) ?? {};
    const open = this.#open.get(asObject(given["_meta"])?.[SUBSCRIPTION_ID]);
    if (open === undefined || (member !== undefined && !covers(open.filter[member], given))) return "foreign";
    open.listener?.(method, given);
    return member === undefined ? "acknowledged" : "admitted";
  }
}

function covers(asked: unknown, { uri, taskId }: JsonObject): boolean {
  if (!Array.isArray(asked)) return asked === true;
  const told = uri ?? taskId;
  return typeof told === "string" && asked.some((each) => told === each || isBelow(told, String(each)));
}

/** A URI may be that of a part of what was subscribed to (server/resources, subscriptions). */
function isBelow(uri: string, of: string): boolean {
  return uri.startsWith(of) && (of.endsWith("/") || /^[/?#]/.test(uri.slice(of.length)));
}

/** What of a filter a server has agreed to: a kind that it does not name, or that was not asked for, is not told. */
export function honoured(filter: SubscriptionFilter, acknowledgement: JsonObject): SubscriptionFilter {
  const given = asObject(acknowledgement["notifications"]) ?? {};
  const agreed: Record<string, unknown> = {};
  for (const [member, asked] of Object.entries(filter)) {
    const found = given[member];
    if (asked === true && found === true) agreed[member] = true;
    else if (Array.isArray(asked) && Array.isArray(found)) {
      agreed[member] = asked.filter((each) => found.includes(each));
    }
  }
  return agreed;
}
