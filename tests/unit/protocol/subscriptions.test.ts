import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { admission, honoured, type SubscriptionFilter, subscriptionOf } from "../../../src/protocol/subscriptions.ts";

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const TOOLS = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";
const under = (subscription: unknown, more: object = {}): JsonObject => ({
  _meta: { "io.modelcontextprotocol/subscriptionId": subscription },
  ...more,
});

describe("notification", () => {
  test("names its subscription by the very id that was sent: C-SUB-03", () => {
    for (const id of [5, "5", undefined]) {
      for (const method of [TOOLS, UPDATED, ACKNOWLEDGED]) expect(subscriptionOf(method, under(id))).toEqual({ id });
    }
    for (const params of [undefined, 5, {}, { _meta: 5 }]) expect(subscriptionOf(TOOLS, params)).toEqual({});
    for (const method of ["notifications/message", "notifications/unknown", "constructor", `x${TOOLS}`, `${TOOLS}/x`]) {
      expect(subscriptionOf(method, under(1))).toBeUndefined();
    }
  });

  test("opens a subscription with what the server has agreed to: C-SUB-02", () => {
    const heard: SubscriptionFilter[] = [];
    const params = under(5, { notifications: { toolsListChanged: true, promptsListChanged: true } });
    expect(admission({ toolsListChanged: true }, ACKNOWLEDGED, params, (found) => heard.push(found))).toBe(
      "acknowledged",
    );
    expect(heard).toEqual([{ toolsListChanged: true }]);
  });

  const rows: [filter: JsonObject, method: string, params: JsonObject, judged: string][] = [
    [{ toolsListChanged: true }, TOOLS, under(1), "admitted"],
    [{ toolsListChanged: false }, TOOLS, under(1), "foreign"],
    [{}, TOOLS, under(1), "foreign"],
    [{ promptsListChanged: true }, TOOLS, under(1), "foreign"],
    [{ promptsListChanged: true }, "notifications/prompts/list_changed", under(1), "admitted"],
    [{ resourcesListChanged: true }, "notifications/resources/list_changed", under(1), "admitted"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1, { uri: "file:///a" }), "admitted"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1, { uri: "file:///a/b" }), "admitted"],
    [{ resourceSubscriptions: ["file:///a/"] }, UPDATED, under(1, { uri: "file:///a/b" }), "admitted"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1, { uri: "file:///ab" }), "foreign"],
    [{ resourceSubscriptions: ["file:///a"] }, UPDATED, under(1), "foreign"],
    [{ resourceSubscriptions: "file:///a" }, UPDATED, under(1, { uri: "file:///a" }), "foreign"],
    [{ taskIds: ["t"] }, "notifications/tasks", under(1, { taskId: "t" }), "admitted"],
    [{ taskIds: ["t"] }, "notifications/tasks", under(1, { taskId: "u" }), "foreign"],
    [{}, "constructor", under(1), "foreign"],
  ];
  test.each(rows)("under the filter %j: %s with %j is %s (C-SUB-05)", (filter, method, params, judged) => {
    expect(admission(filter, method, params, () => {})).toBe(judged);
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
