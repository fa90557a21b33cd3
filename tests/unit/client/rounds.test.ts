import { describe, expect, it } from "vitest";
import { answering, type AskHandlers } from "../../../src/client/asks.ts";
import type { Client, RequestOptions } from "../../../src/client/client.ts";
import type { Reply } from "../../../src/client/reply.ts";
import { requestInRounds } from "../../../src/client/rounds.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const confirm = {
  method: "elicitation/create",
  params: { message: "Sure?", requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } } },
};
const yes = answering({ form: () => ({ action: "accept", content: { ok: true } }) });
const answered = { confirm: { action: "accept", content: { ok: true } } };
const params = { name: "t", arguments: { a: 1 } };

const done: Reply = { kind: "done", result: { content: [] }, bytes: 1, resends: 0 };
const asksFor = (inputRequests?: JsonObject, requestState?: string): Reply => ({
  kind: "input_required",
  inputRequests,
  requestState,
  bytes: 1,
  resends: 0,
});

/** Answers with the replies in turn and keeps what it was asked. */
function scripted(...replies: Reply[]) {
  const sent: (JsonObject | undefined)[] = [];
  const options: RequestOptions[] = [];
  const client = {
    request(_method: string, given: JsonObject | undefined, bounds: RequestOptions): Promise<Reply> {
      sent.push(given);
      options.push(bounds);
      return Promise.resolve(replies[Math.min(sent.length, replies.length) - 1]!);
    },
  } as unknown as Client;
  return { client, sent, options };
}

describe("rounds", () => {
  it("repeat the request with the answers and the state exactly as it came (C-MRTR-02, C-MRTR-05)", async () => {
    const state = "  opaque é\u0000 ";
    const { client, sent } = scripted(asksFor({ confirm }, state), done);
    expect(await requestInRounds(client, "tools/call", params, { asks: yes })).toEqual(done);
    expect(sent).toEqual([params, { ...params, inputResponses: answered, requestState: state }]);
  });

  it("without a state send none, and none of an earlier round (C-MRTR-04, C-MRTR-06)", async () => {
    const { client, sent } = scripted(asksFor({ confirm }, "s1"), asksFor({ confirm }), done);
    await requestInRounds(client, "tools/call", params, { asks: yes });
    expect(sent[1]).toHaveProperty("requestState", "s1");
    expect(sent[2]).toEqual({ ...params, inputResponses: answered });
  });

  it("with nothing to answer wait longer each time and send no answers (C-MRTR-08)", async () => {
    const clock = new FakeClock();
    const { client, sent } = scripted(asksFor(undefined, "s1"), asksFor(undefined, "s2"), done);
    const reply = requestInRounds(client, "tools/call", params, { asks: answering({}), clock });
    await clock.advance(249);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    expect(sent).toEqual([params, { ...params, requestState: "s1" }]);
    await clock.advance(499);
    expect(sent).toHaveLength(2);
    await clock.advance(1);
    expect(await reply).toEqual(done);
    expect(clock.timers).toBe(0);
  });

  it("without end are ended (C-MRTR-08)", async () => {
    const { client, sent } = scripted(asksFor({ confirm }));
    expect(await requestInRounds(client, "tools/call", params, { asks: yes })).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_PROTOCOL", facts: { rounds: 8 } },
    });
    expect(sent).toHaveLength(8);
  });

  it("share one maximum, to which the time of a person does not count", async () => {
    const clock = new FakeClock();
    const slow: AskHandlers = {
      form: async () => {
        await clock.advance(50_000);
        return { action: "accept", content: { ok: true } };
      },
    };
    const { client, options } = scripted(asksFor({ confirm }), done);
    await requestInRounds(client, "tools/call", params, { asks: answering(slow), clock, maxTotalMs: 10_000 });
    expect(options[1]).toMatchObject({ maxTotalMs: 10_000 });
  });

  it("end with the caller, also while a person thinks", async () => {
    const controller = new AbortController();
    const asks: AskHandlers = {
      form: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
          controller.abort();
        }),
    };
    const { client } = scripted(asksFor({ confirm }));
    expect(await requestInRounds(client, "tools/call", params, { asks: answering(asks), signal: controller.signal }))
      .toMatchObject({
        kind: "failed",
        error: { code: "ERR_CANCELLED" },
      });
  });

  it.each([[new Error("handler"), "ERR_CANCELLED"], [new HostError("ERR_DENIED", "no"), "ERR_DENIED"]])(
    "end as failed when a handler throws %s",
    async (thrown, code) => {
      const { client, sent } = scripted(asksFor({ confirm }));
      const asks: AskHandlers = {
        form: () => {
          throw thrown;
        },
      };
      expect(await requestInRounds(client, "tools/call", params, { asks: answering(asks) })).toMatchObject({
        kind: "failed",
        error: { code },
      });
      expect(sent).toHaveLength(1);
    },
  );

  it("pass any other reply on, and count what was sent again", async () => {
    const { client } = scripted({ ...asksFor({ confirm }), resends: 1 } as Reply, { ...done, resends: 2 } as Reply);
    expect(await requestInRounds(client, "tools/call", params, { asks: yes })).toMatchObject({
      kind: "done",
      resends: 3,
    });
  });
});
