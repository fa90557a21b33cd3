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

/** What becomes of a notification that names a subscription. */
export type Admission =
  /** It was asked for. */
  | "admitted"
  /** It opens the subscription, and means nothing to anybody else. */
  | "acknowledged"
  /** It was not asked for. */
  | "foreign";

export const LISTEN = "subscriptions/listen";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
/** What belongs to one subscription or to nobody. */
const BOUND =
  /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|resources\/updated|tasks|subscriptions\/acknowledged)$/;

/** The id by which a notification names its subscription; nothing for one that needs none. */
export function subscriptionOf(method: string, params: unknown): { readonly id: unknown } | undefined {
  return BOUND.test(method) ? { id: asObject(asObject(params)?.["_meta"])?.[SUBSCRIPTION_ID] } : undefined;
}

/** The member of a filter that asks for each kind of notification. */
const ASKED_BY: ReadonlyMap<string, keyof SubscriptionFilter> = new Map([
  ["notifications/tools/list_changed", "toolsListChanged"],
  ["notifications/prompts/list_changed", "promptsListChanged"],
  ["notifications/resources/list_changed", "resourcesListChanged"],
  ["notifications/resources/updated", "resourceSubscriptions"],
  ["notifications/tasks", "taskIds"],
]);

/** Judges what arrives under one subscription. `onAcknowledged` hears what the server has agreed to. */
export function admission(
  filter: SubscriptionFilter,
  method: string,
  params: JsonObject,
  onAcknowledged: (honoured: SubscriptionFilter) => void,
): Admission {
  if (method === ACKNOWLEDGED) {
    onAcknowledged(honoured(filter, params));
    return "acknowledged";
  }
  const member = ASKED_BY.get(method);
  return member !== undefined && covers(filter[member], params) ? "admitted" : "foreign";
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
