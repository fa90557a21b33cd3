import { describe, expect, test } from "vitest";
import type { AskAnswerer } from "../../../src/client/asks.ts";
import type { Client, ConnectOptions } from "../../../src/client/client.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { noteGivenUp, ownAsks } from "../../../src/servers/given_up.ts";
import { FakeClient } from "../../fixtures/fake_client.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const never = new AbortController().signal;
const answer: AskAnswerer = () => Promise.resolve({ action: "accept" });
const failed = (code: "ERR_TIMEOUT" | "ERR_CONNECTION_LOST", sent = true) =>
  ({ kind: "failed", error: new HostError(code, "x"), sent, refused: false, resends: 0 }) as const;

const connection = (): Client => new FakeClient({} as ConnectOptions, []);

function scene() {
  const [client, clock] = [connection(), new FakeClock()];
  const asked = (session: string, isOwn?: boolean, of = client): Promise<unknown> =>
    ownAsks(of, session, clock, answer)("elicitation/create", {}, never, isOwn).catch((error) => error.code);
  return { client, clock, asked };
}

describe("ask on a stream that all share (A-99)", () => {
  test("is not put to a session after another one has given a request up, for as long as a person may take", async () => {
    const { client, clock, asked } = scene();
    noteGivenUp(client, "alice", clock, failed("ERR_TIMEOUT"));
    expect([await asked("bob"), await asked("alice")]).toEqual([-32600, { action: "accept" }]);
    expect(await asked("bob", true), "on a stream of its own").toEqual({ action: "accept" });
    expect(await asked("bob", false, connection()), "on another connection").toEqual({ action: "accept" });
    await clock.advance(5 * 60_000);
    expect(await asked("bob")).toEqual({ action: "accept" });
  });

  test("is put to a session where nothing is left to be worked on", async () => {
    const { client, clock, asked } = scene();
    noteGivenUp(client, "alice", clock, failed("ERR_TIMEOUT", false));
    noteGivenUp(client, "alice", clock, failed("ERR_CONNECTION_LOST"));
    noteGivenUp(client, "alice", clock, { kind: "done", result: {}, bytes: 0, resends: 0 });
    expect(await asked("bob")).toEqual({ action: "accept" });
  });
});
