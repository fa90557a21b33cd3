import { describe, expect, test } from "vitest";
import { httpDialer } from "../../../src/transport/http.ts";
import { StreamPlace } from "../../../src/transport/resume.ts";
import type { Transport, WireProfile } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { event, events, type Fetched, listener, profile, result, scriptedFetch, type Told } from "./scripted_fetch.ts";

type Answer = (request: Fetched) => Response | Promise<Response>;

interface Open {
  readonly transport: Transport;
  readonly told: Told[];
  readonly requests: Fetched[];
  readonly clock: FakeClock;
}

/** Answers each request by the next answer, the last of which stays. */
async function open(answers: readonly Answer[], facts: Partial<WireProfile> = {}): Promise<Open> {
  const clock = new FakeClock();
  let at = 0;
  const { fetch, requests } = scriptedFetch((request) => answers[Math.min(at++, answers.length - 1)]!(request));
  const { handlers, told } = listener();
  const transport = await httpDialer({ url: "https://mcp.test/mcp", fetch, clock }).dial(profile(facts), handlers);
  return { transport, told, requests, clock };
}

const call = { text: "{}", method: "tools/call", id: 1 };
const identified = (id: string, value: unknown = undefined, more = ""): string =>
  `id: ${id}\n${more}data: ${value === undefined ? "" : JSON.stringify(value)}\n\n`;
const note = (n: number): object => ({ jsonrpc: "2.0", method: "n", params: { n } });
const network = (): Promise<Response> => Promise.reject(Object.assign(new Error("x"), { code: "ECONNRESET" }));
const status = (code: number) => (): Response => new Response("no", { status: code });
const answer = { on: "message", message: { kind: "result", id: 1, result: { n: 1 } }, of: 1 };
const response = result(1, { n: 1 });
const sentIds = (requests: readonly Fetched[]): (string | undefined)[] =>
  requests.map(({ headers }) => headers["last-event-id"]);

describe("stream of an answer that ends before it", () => {
  test("is taken up again by GET from its last id, after a second: C-SHTTP-10, C-SHTTP-12, C-SHTTP-04", async () => {
    const { transport, told, requests, clock } = await open([
      () => events(identified("a-1", note(1))),
      () => events(event(response)),
    ], { headers: () => ({ "mcp-protocol-version": "v" }) });
    void transport.send(call);
    await settle();
    await clock.advance(999);
    expect(requests).toHaveLength(1);
    await clock.advance(1);
    expect(requests[1]).toMatchObject({
      method: "GET",
      body: "",
      headers: { accept: "text/event-stream", "last-event-id": "a-1", "mcp-protocol-version": "v" },
    });
    expect(requests[1]!.headers["content-type"]).toBeUndefined();
    expect(told).toMatchObject([{ on: "message", message: { params: { n: 1 } } }, answer]);
    expect(clock.timers).toBe(0);
  });

  test.each([[500, 500], [0, 100], [5, 100], [999_999_999, 60_000]])(
    "waits the retry time of %i ms, within bounds: %i ms: C-SHTTP-11",
    async (retry, waits) => {
      const { transport, requests, clock } = await open([
        () => events(identified("a-1", undefined, `retry: ${retry}\n`)),
        () => events(event(response)),
      ]);
      void transport.send(call);
      await clock.advance(waits - 1);
      expect(requests).toHaveLength(1);
      await clock.advance(1);
      expect(requests).toHaveLength(2);
    },
  );

  test("is polled until the response comes, each time from the last id: C-SHTTP-12, C-SHTTP-15 (FR-24)", async () => {
    const { transport, told, requests, clock } = await open([
      () => events(identified("a-1", undefined, "retry: 200\n")),
      () => events(": ping\n\n" + identified("a-2")),
      () => events(identified("a-3")),
      () => events(event(response)),
    ]);
    void transport.send(call);
    await clock.advance(600);
    expect(sentIds(requests)).toEqual([undefined, "a-1", "a-2", "a-3"]);
    expect(told).toMatchObject([answer]);
  });

  test("that breaks is taken up again too, and no longer when the answer has come", async () => {
    const { transport, told, requests, clock } = await open([
      () => events(identified("a-1"), Object.assign(new Error("x"), { code: "ECONNRESET" })),
      () => events(event(response), new Error("x")),
    ]);
    void transport.send(call);
    await clock.advance(60_000);
    expect(requests).toHaveLength(2);
    expect(told).toMatchObject([answer]);
  });

  test("delivers each event once, though the server replays more than was missed (FR-26)", async () => {
    const { transport, told, requests, clock } = await open([
      () => events([1, 2, 3].map((n) => identified(`s-${n}`, note(n))).join("")),
      () => events(identified("s-3", note(3)) + identified("s-4", note(4), "retry: 2000\n")),
      () => events(identified("s-3", note(3)) + identified("s-4", note(4)) + event(response)),
    ]);
    void transport.send(call);
    await clock.advance(1000);
    await clock.advance(1999);
    expect(requests).toHaveLength(2);
    await clock.advance(1);
    expect(sentIds(requests)).toEqual([undefined, "s-3", "s-4"]);
    const numbers = told.map((each) =>
      each.on === "message" && each.message.kind === "notification" ? (each.message.params as { n: number }).n : each.on
    );
    expect(numbers).toEqual([1, 2, 3, 4, "message"]);
  });

  test("keeps a place of its own, which is not that of another: C-SHTTP-16", async () => {
    const { transport, requests, clock } = await open([
      ({ body, method, headers }) =>
        method === "GET"
          ? events(event(result(headers["last-event-id"] === "one" ? 1 : 2)))
          : events(identified(body === "1" ? "one" : "two")),
    ]);
    void transport.send({ ...call, text: "1" });
    void transport.send({ ...call, id: 2, text: "2" });
    await clock.advance(1000);
    expect(sentIds(requests)).toEqual([undefined, undefined, "one", "two"]);
  });

  test("without an id is lost and not sent again: C-SHTTP-19", async () => {
    for (const chunk of [event(note(1)), identified("a-1") + "id:\ndata:\n\n", "retry: 5\n\n", "id: a\tb\ndata:\n\n"]) {
      const { transport, told, requests, clock } = await open([() => events(chunk)]);
      void transport.send(call);
      await clock.advance(60_000);
      expect(requests).toHaveLength(1);
      expect(told.at(-1)).toMatchObject({
        on: "lost",
        lost: { sent: true, refused: false, error: { code: "ERR_CONNECTION_LOST" } },
      });
    }
  });

  test("is not taken up where the revision has no such thing", async () => {
    const { transport, told, requests, clock } = await open([() => events(identified("a-1"))], { sessions: false });
    void transport.send(call);
    await clock.advance(60_000);
    expect([requests.length, told.map(({ on }) => on)]).toEqual([1, ["lost"]]);
  });

  test.each([404, 405, 400, 403])("that the server will not resume (%i) is lost", async (code) => {
    const { transport, told, requests, clock } = await open([() => events(identified("a-1")), status(code)]);
    void transport.send(call);
    await clock.advance(60_000);
    expect(requests).toHaveLength(2);
    expect(told).toMatchObject([{
      on: "lost",
      lost: { sent: true, refused: false, error: { code: "ERR_CONNECTION_LOST", facts: { status: code } } },
    }]);
    expect(told[0]).toMatchObject({ lost: { error: { message: expect.stringContaining("cannot be resumed") } } });
  });

  test("is asked for with growing pauses while the server is out of reach or busy, never in a rush", async () => {
    const { transport, told, requests, clock } = await open([
      () => events(identified("a-1")),
      network,
      status(503),
      status(409),
      network,
      () => events(event(response)),
    ]);
    void transport.send(call);
    const seen: number[] = [];
    for (let ms = 0; ms <= 31_000; ms += 500) {
      if (requests.length > seen.length) seen.push(ms);
      await clock.advance(500);
    }
    expect(seen).toEqual([0, 1000, 3000, 7000, 15_000, 31_000].map((ms) => ms === 0 ? 0 : ms));
    expect(told).toMatchObject([answer]);
  });

  test.each(["abandon", "close"] as const)("is not asked for any more after %s", async (way) => {
    const { transport, told, requests, clock } = await open([() => events(identified("a-1"))]);
    void transport.send(call);
    await settle();
    if (way === "abandon") transport.abandon(1);
    else await transport.close();
    await settle();
    expect(clock.timers).toBe(0);
    await clock.advance(60_000);
    expect(requests).toHaveLength(1);
    expect(told.filter(({ on }) => on === "lost")).toEqual([]);
    await transport.close();
  });
});

describe("place of a stream", () => {
  test("sends an id as its bytes in UTF-8", () => {
    const place = new StreamPlace();
    place.take("é漢");
    expect(place.lastEventId).toBe("\u00c3\u00a9\u00e6\u00bc\u00a2");
  });

  test("remembers few of the ids that it has seen", () => {
    const place = new StreamPlace();
    for (let n = 0; n < 1000; n++) place.take(`id-${n}`);
    place.begin();
    expect(place.take("id-999")).toBe(false);
    expect(place.take("id-1")).toBe(true);
  });

  test("pauses twice as long after each round that brings nothing, up to a minute", () => {
    const place = new StreamPlace();
    const pauses = Array.from({ length: 9 }, () => place.pauseMs());
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    place.take(undefined);
    expect(place.pauseMs()).toBe(1000);
  });
});
