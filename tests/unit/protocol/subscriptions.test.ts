import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { honoured, type SubscriptionFilter, Subscriptions } from "../../../src/protocol/subscriptions.ts";

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const TOOLS = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";
const under = (subscription: unknown, more: object = {}): JsonObject => ({
  _meta: { "io.modelcontextprotocol/subscriptionId": subscription },
  ...more,
});

describe("open subscriptions", () => {
  test("are told apart by the ids of their requests, of the very type that was sent: C-SUB-03", () => {
    const subscriptions = new Subscriptions();
    const told: string[] = [];
    for (const id of [5, 6]) {
      subscriptions.open(id, { notifications: { toolsListChanged: true } }, (method) => told.push(`${id} ${method}`));
    }
    expect(subscriptions.admit(ACKNOWLEDGED, under(6))).toBe("acknowledged");
    expect(subscriptions.admit(TOOLS, under(5))).toBe("admitted");
    expect(subscriptions.admit(TOOLS, under("5"))).toBe("foreign");
    subscriptions.close(5);
    expect(subscriptions.admit(TOOLS, under(5))).toBe("foreign");
    expect(told).toEqual([`6 ${ACKNOWLEDGED}`, `5 ${TOOLS}`]);
  });

  const rows: [filter: JsonObject, method: string, params: unknown, admission: string][] = [
    [{ toolsListChanged: true }, TOOLS, under(1), "admitted"],
    [{ toolsListChanged: false }, TOOLS, under(1), "foreign"],
    [{}, TOOLS, under(1), "foreign"],
    [{ promptsListChanged: true }, TOOLS, under(1), "foreign"],
    [{ promptsListChanged: true }, "notifications/prompts/list_changed", under(1), "admitted"],
    [{ resourcesListChanged: true }, "notifications/resources/list_changed", under(1), "admitted"],
    [{ toolsListChanged: true }, TOOLS, undefined, "foreign"],
    [{ toolsListChanged: true }, TOOLS, { _meta: 5 }, "foreign"],
    [{ toolsListChanged: true }, TOOLS, under(2), "foreign"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1, { uri: "file:///a" }), "admitted"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1, { uri: "file:///a/b" }), "admitted"],
    [{ resourceSubscriptions: ["file:///a/"] }, UPDATED, under(1, { uri: "file:///a/b" }), "admitted"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1, { uri: "file:///ab" }), "foreign"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1), "foreign"],
    [{ resourceSubscriptions: "file:///a" }, UPDATED, under(1, { uri: "file:///a" }), "foreign"],
    [{ taskIds: ["t"] }, "notifications/tasks", under(1, { taskId: "t" }), "admitted"],
    [{ taskIds: ["t"] }, "notifications/tasks", under(1, { taskId: "u" }), "foreign"],
    [{}, "notifications/message", undefined, "unbound"],
    [{}, "notifications/unknown", under(1), "unbound"],
    [{}, "constructor", under(1), "unbound"],
  ];
  test.each(rows)("with the filter %j: %s with %j is %s (C-SUB-05)", (notifications, method, params, admission) => {
    const subscriptions = new Subscriptions();
    subscriptions.open(1, { notifications }, undefined);
    expect(subscriptions.admit(method, params)).toBe(admission);
  });
});

describe("what a server has agreed to (C-SUB-02)", () => {
  const asked: SubscriptionFilter = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ["a", "b"],
  };
  const rows: [notifications: unknown, found: SubscriptionFilter][] = [
    [asked, asked],
    [{ toolsListChanged: true }, { toolsListChanged: true }],
    [{ toolsListChanged: "yes", resourcesListChanged: true, resourceSubscriptions: ["b", "c"] }, {
      resourceSubscriptions: ["b"],
    }],
    [{}, {}],
    [undefined, {}],
    [5, {}],
  ];
  test.each(rows)("of %j is %j", (notifications, found) => {
    expect(honoured(asked, { notifications })).toEqual(found);
  });
});
