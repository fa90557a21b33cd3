import { describe, expect, test } from "vitest";
import { httpDialer } from "../../../src/transport/http.ts";
import type { Transport, WireProfile } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import {
  body,
  event,
  events,
  type Fetched,
  json,
  listener,
  profile,
  result,
  scriptedFetch,
  type Told,
} from "./scripted_fetch.ts";

interface Open {
  readonly transport: Transport;
  readonly told: Told[];
  readonly requests: Fetched[];
  readonly clock: FakeClock;
}

async function open(
  script: (request: Fetched) => Response | Promise<Response>,
  facts: Partial<WireProfile> = {},
): Promise<Open> {
  const clock = new FakeClock();
  const { fetch, requests } = scriptedFetch(script);
  const { handlers, told } = listener();
  const transport = await httpDialer({ url: "https://mcp.test/mcp", fetch, clock, contentLengthIsDecoded: true }).dial(
    profile(facts),
    handlers,
  );
  return { transport, told, requests, clock };
}

/** Sends one request under id 1 and tells what came of it. */
async function ask(response: () => Response | Promise<Response>, facts: Partial<WireProfile> = {}): Promise<Told[]> {
  const { transport, told, clock } = await open(response, facts);
  void transport.send({ text: "{}", method: "tools/call", id: 1 });
  await settle();
  await clock.advance(2000);
  expect(clock.timers).toBe(0);
  return told;
}

const lost = (code: string, more: object = {}): object => ({
  on: "lost",
  id: 1,
  lost: { sent: true, refused: false, error: { code }, ...more },
});
const answer = { on: "message", message: { kind: "result", id: 1, result: { n: 1 } }, of: 1 };
const notification = { jsonrpc: "2.0", method: "n" };
const typed = (type: string, text: string | null = "", init: ResponseInit = {}): Response =>
  new Response(text, { ...init, headers: { "content-type": type, ...init.headers } });

describe("answer in JSON (C-SHTTP-03, C-HTTP-08)", () => {
  const rows: [claim: string, response: () => Response, told: object[]][] = [
    ["plain", () => json(result(1, { n: 1 })), [answer]],
    [
      "with parameters in its media type (FR-22)",
      () => typed("Application/JSON; charset=UTF-8", JSON.stringify(result(1, { n: 1 }))),
      [answer],
    ],
    ["with a byte order mark (A-49)", () => json(`\uFEFF${JSON.stringify(result(1, { n: 1 }))}`), [answer]],
    ["with its length, read in one step", () => json(result(1, { n: 1 }), { headers: { "content-length": "45" } }), [
      answer,
    ]],
    ["that is an error", () => json({ jsonrpc: "2.0", id: 1, error: { code: -1, message: "no" } }), [{
      on: "message",
      message: { kind: "error", id: 1, error: { code: -1, message: "no" } },
      of: 1,
    }]],
    [
      "that is an error without an id (C-RPC-11)",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -1, message: "no" } }),
      [{
        on: "message",
        message: { kind: "error", id: undefined },
        of: 1,
      }],
    ],
    ["under the id as a text (FR-34)", () => json(result("1", { n: 1 })), [{
      on: "message",
      message: { kind: "result", id: "1" },
      of: 1,
    }]],
    ["under another id: an error at once, no wait (FR-34)", () => json(result(7)), [{
      on: "message",
      message: { id: 7 },
      of: 1,
    }, lost("ERR_PROTOCOL")]],
    ["under id null", () => json(result(null)), [{ on: "malformed", reason: "id", id: 1, of: 1 }]],
    ["that is a notification", () => json(notification), [
      { on: "message", message: { kind: "notification" }, of: 1 },
      lost("ERR_PROTOCOL"),
    ]],
    ["that is a question", () => json({ jsonrpc: "2.0", id: 1, method: "ping" }), [{
      on: "message",
      message: { kind: "request" },
      of: 1,
    }, lost("ERR_PROTOCOL")]],
    ["that is no JSON (A-49)", () => json("<html>"), [{ on: "malformed", reason: "not_json", id: 1, of: 1 }]],
    ["that is no message", () => json({ ok: true }), [{ on: "malformed", reason: "not_rpc", id: 1, of: 1 }]],
    ["cut in the middle", () => json('{"jsonrpc":"2.0","id":1,"resu'), [{
      on: "malformed",
      reason: "not_json",
      id: 1,
      of: 1,
    }]],
    ["nested too deeply (A-29)", () => json(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(90)}${"]".repeat(90)}}`), [{
      on: "malformed",
      reason: "too_deep",
      id: 1,
      of: 1,
    }]],
    ["with result and error", () => json({ ...result(1), error: { code: 1, message: "" } }), [{
      on: "malformed",
      reason: "envelope",
      id: 1,
      of: 1,
    }]],
    ["in an array, where there are none (A-20)", () => json([result(1)]), [{
      on: "malformed",
      reason: "batch",
      id: 1,
      of: 1,
    }]],
    ["of an empty body (FR-23, A-49)", () => json(""), [lost("ERR_PROTOCOL")]],
    ["of blanks", () => json(" \n"), [lost("ERR_PROTOCOL")]],
    [
      "that breaks off (sent, outcome unknown)",
      () =>
        new Response(body('{"jsonrpc"', Object.assign(new Error("x"), { code: "ECONNRESET" })), {
          headers: { "content-type": "application/json" },
        }),
      [lost("ERR_CONNECTION_LOST", { error: { code: "ERR_CONNECTION_LOST", facts: { cause: "ECONNRESET" } } })],
    ],
  ];
  test.each(rows)("%s", async (_claim, response, told) => {
    const found = await ask(response);
    expect(found).toMatchObject(told);
    expect(found).toHaveLength(told.length);
  });

  test("in an array is taken member by member, where there are such (C-RPC-08)", async () => {
    const batch = [notification, result(1, { n: 1 }), { jsonrpc: "2.0", id: 5 }, 7];
    expect(await ask(() => json(batch), { batches: true })).toMatchObject([
      { on: "message", message: { kind: "notification" } },
      answer,
      { on: "malformed", reason: "envelope", id: 5 },
      { on: "malformed", reason: "not_rpc", id: undefined },
    ]);
    expect(await ask(() => json([notification]), { batches: true })).toMatchObject([
      { on: "message" },
      lost("ERR_PROTOCOL"),
    ]);
    const many = Array.from({ length: 101 }, () => notification);
    expect(await ask(() => json(many), { batches: true })).toMatchObject([{ on: "malformed", reason: "batch", id: 1 }]);
  });

  test("without end is cut at the limit and its source cancelled (FR-30)", async () => {
    const piece = "a".repeat(1 << 20);
    const endless = body('{"x":"', ...Array.from({ length: 50 }, () => piece));
    const found = await ask(() => new Response(endless, { headers: { "content-type": "application/json" } }));
    expect(found).toMatchObject([lost("ERR_FRAME_TOO_LARGE")]);
    expect(endless.cancelled).toBe(true);
  });

  test("that claims a length over the limit is read no further than the limit (FR-30)", async () => {
    const found = await ask(() => json(result(1, { n: 1 }), { headers: { "content-length": "10000000000" } }));
    expect(found).toMatchObject([answer]);
  });
});

describe("answer in events (C-SHTTP-03, C-HTTP-08)", () => {
  const rows: [claim: string, response: () => Response, told: object[]][] = [
    ["alone", () => events(event(result(1, { n: 1 }))), [answer]],
    [
      "with parameters in its media type (FR-22)",
      () => typed("Text/Event-Stream;charset=UTF-8", event(result(1, { n: 1 }))),
      [answer],
    ],
    ["after notifications", () => events(event(notification) + event(result(1, { n: 1 }))), [{
      on: "message",
      message: { kind: "notification" },
      of: 1,
    }, answer]],
    [
      "after a priming event (FR-24, C-SHTTP-15)",
      () => events("id: s1\nretry: 30\ndata:\n\n", event(result(1, { n: 1 }))),
      [
        answer,
      ],
    ],
    ["after events of other names (FR-25)", () => events(`event: weather\ndata: {}\n\n${event(result(1, { n: 1 }))}`), [
      answer,
    ]],
    [
      "after noise, which is counted (FR-01, C-RPC-16)",
      () => events(event("hello") + event("[]") + event(result(1, { n: 1 }))),
      [
        { on: "malformed", reason: "not_json", id: undefined },
        { on: "malformed", reason: "not_rpc" },
        answer,
      ],
    ],
    ["after an answer to another (FR-34)", () => events(event(result(9)) + event(result(1, { n: 1 }))), [{
      on: "message",
      message: { id: 9 },
      of: 1,
    }, answer]],
    ["after one under id null (A-17)", () => events(event(result(null)) + event(result(1, { n: 1 }))), [{
      on: "malformed",
      reason: "id",
      id: undefined,
    }, answer]],
    ["after an array (A-20)", () => events(event([notification]) + event(result(1, { n: 1 }))), [{
      on: "malformed",
      reason: "batch",
      id: undefined,
    }, answer]],
    ["in an array", () => events(event([result(1)])), [{ on: "malformed", reason: "batch", id: 1, of: 1 }]],
    ["with result and error", () => events(event({ ...result(1), error: { code: 1, message: "" } })), [{
      on: "malformed",
      reason: "envelope",
      id: 1,
      of: 1,
    }]],
    ["nested too deeply", () => events(event(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(90)}${"]".repeat(90)}}`)), [
      { on: "malformed", reason: "too_deep", id: 1, of: 1 },
    ]],
    ["that never comes: the stream ends", () => events(event(notification)), [
      { on: "message" },
      lost("ERR_CONNECTION_LOST", { error: { code: "ERR_CONNECTION_LOST", facts: {} } }),
    ]],
    ["that is not finished", () => events(`data: ${JSON.stringify(result(1))}\n`), [lost("ERR_CONNECTION_LOST")]],
    ["of an empty stream (FR-23)", () => typed("text/event-stream", ""), [lost("ERR_CONNECTION_LOST")]],
    ["of no body at all", () => typed("text/event-stream", null), [lost("ERR_CONNECTION_LOST")]],
    ["labelled so, but JSON (A-49)", () => typed("text/event-stream", JSON.stringify(result(1))), [
      lost("ERR_CONNECTION_LOST"),
    ]],
    ["that breaks off", () => events("data: {", Object.assign(new Error("x"), { code: "ECONNRESET" })), [
      lost("ERR_CONNECTION_LOST", { error: { code: "ERR_CONNECTION_LOST", facts: { cause: "ECONNRESET" } } }),
    ]],
    ["followed by a break", () => events(event(result(1, { n: 1 })), new Error("x")), [answer]],
    ["in an endless line (A-41)", () => events("data: ", ...Array.from({ length: 20 }, () => "a".repeat(1 << 20))), [
      lost("ERR_FRAME_TOO_LARGE"),
    ]],
  ];
  test.each(rows)("%s", async (_claim, response, told) => {
    const found = await ask(response);
    expect(found).toMatchObject(told);
    expect(found).toHaveLength(told.length);
  });

  test("leaves its stream open for a second at most", async () => {
    const { transport, told, requests, clock } = await open(() =>
      events(event(result(1, { n: 1 })), new Promise<never>(() => {}))
    );
    void transport.send({ text: "{}", method: "m", id: 1 });
    await settle();
    expect(told).toMatchObject([answer]);
    expect(requests[0]!.signal.aborted).toBe(false);
    await clock.advance(1000);
    expect(requests[0]!.signal.aborted).toBe(true);
  });

  test("is given up with its request, and the stream of another goes on (C-HTTP-11)", async () => {
    const { transport, told, requests } = await open((request) =>
      events(event({ ...notification, params: request.body }), new Promise<never>(() => {}))
    );
    void transport.send({ text: "1", method: "m", id: 1 });
    void transport.send({ text: "2", method: "m", id: 2 });
    await settle();
    transport.abandon(1);
    transport.abandon(1);
    transport.abandon(77);
    await settle();
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(told.map(({ on }) => on)).toEqual(["message", "message"]);
    await transport.close();
  });
});

describe("answer that is neither", () => {
  const html = "<!doctype html><title>Sign in</title>";
  const rows: [claim: string, response: () => Response, error: object][] = [
    ["a web page (FR-22)", () => typed("text/html; charset=utf-8", html), {
      code: "ERR_PROTOCOL",
      facts: { status: 200, contentType: "text/html", excerpt: html },
    }],
    ["a web page of 10 MiB (A-49)", () => typed("text/html", html + " ".repeat(10 << 20)), {
      code: "ERR_PROTOCOL",
      facts: { contentType: "text/html" },
    }],
    ["a text without a type", () => new Response(new TextEncoder().encode("hello")), {
      code: "ERR_PROTOCOL",
      facts: { excerpt: "hello" },
    }],
    ["202 (FR-23)", () => new Response(null, { status: 202 }), { code: "ERR_PROTOCOL", facts: { status: 202 } }],
    ["202 labelled as events (FR-23)", () => typed("text/event-stream", "", { status: 202 }), {
      code: "ERR_CONNECTION_LOST",
    }],
    ["204", () => new Response(null, { status: 204 }), { code: "ERR_PROTOCOL", facts: { status: 204 } }],
    ["200 without a body", () => new Response(null), { code: "ERR_PROTOCOL", facts: { status: 200 } }],
  ];
  test.each(rows)("%s is an error at once, sent and not refused", async (_claim, response, error) => {
    expect(await ask(response)).toMatchObject([{ on: "lost", id: 1, lost: { sent: true, refused: false, error } }]);
  });

  test("quotes nothing of a long page, which would have to be cut before it is scrubbed", async () => {
    const [told] = await ask(() => typed("text/html", "x".repeat(1 << 20)));
    expect(told).toMatchObject({ on: "lost", lost: { error: { facts: { excerpt: "[16384 characters]" } } } });
  });
});

describe("refusal", () => {
  const rows: [claim: string, response: () => Response, refused: boolean, error: object][] = [
    ["401", () => new Response("x", { status: 401, headers: { "www-authenticate": "Bearer realm=x" } }), true, {
      code: "ERR_AUTH_REQUIRED",
      facts: { status: 401, challenge: "Bearer realm=x" },
    }],
    ["403", () => new Response("x", { status: 403 }), true, { code: "ERR_AUTH_REQUIRED", facts: { status: 403 } }],
    ["404", () => new Response("x", { status: 404 }), true, {
      code: "ERR_PROTOCOL",
      facts: { status: 404, excerpt: "x" },
    }],
    ["405", () => new Response(null, { status: 405 }), true, { code: "ERR_PROTOCOL" }],
    ["413", () => new Response(null, { status: 413 }), true, { code: "ERR_TOO_LARGE" }],
    ["400 without a message", () => json({ oops: 1 }, { status: 400 }), false, { code: "ERR_PROTOCOL" }],
    ["409", () => new Response("x", { status: 409 }), false, { code: "ERR_PROTOCOL" }],
    ["500 with 10 MiB (A-49)", () => typed("text/plain", "boom".repeat(3 << 20), { status: 500 }), false, {
      code: "ERR_PROTOCOL",
      facts: { status: 500 },
    }],
    ["500 with 10 MiB of JSON (A-49)", () => json(`{"a":"${"b".repeat(10 << 20)}"}`, { status: 500 }), false, {
      code: "ERR_PROTOCOL",
      facts: { status: 500 },
    }],
    ["503 whose body breaks off", () => new Response(body("bo", new Error("x")), { status: 503 }), false, {
      code: "ERR_PROTOCOL",
      facts: { status: 503, excerpt: "bo" },
    }],
    [
      "303, which may have executed it",
      () => new Response(null, { status: 303, headers: { location: "/done" } }),
      false,
      { code: "ERR_PROTOCOL", facts: { status: 303 } },
    ],
    [
      "301, though it names the same origin (FR-28)",
      () => new Response(null, { status: 301, headers: { location: "/mcp/" } }),
      false,
      { code: "ERR_PROTOCOL", facts: { status: 301 } },
    ],
    [
      "307 to another origin (A-43)",
      () => new Response(null, { status: 307, headers: { location: "https://evil.test/mcp" } }),
      true,
      { code: "ERR_PROTOCOL", facts: { status: 307 } },
    ],
  ];
  test.each(rows)("%s", async (_claim, response, refused, error) => {
    expect(await ask(response)).toMatchObject([{ on: "lost", id: 1, lost: { sent: true, refused, error } }]);
  });

  test.each([400, 404, 500])(
    "%i with a JSON-RPC error is that error, whatever id it has (C-HTTP-16, C-VER-06)",
    async (status) => {
      for (const id of [1, null, 99, "x"]) {
        const error = { code: -32601, message: "no such method", data: "d".repeat(100_000) };
        expect(await ask(() => json({ jsonrpc: "2.0", id, error }, { status }))).toMatchObject([
          { on: "message", message: { kind: "error", id: 1, error }, of: 1 },
        ]);
      }
    },
  );
});

describe("message that expects no answer (FR-23)", () => {
  const rows: [claim: string, response: () => Response][] = [
    ["202", () => new Response(null, { status: 202 })],
    ["202 with the type of events", () => typed("text/event-stream", null, { status: 202 })],
    ["200 with an empty JSON body", () => json("")],
    ["204", () => new Response(null, { status: 204 })],
    ["200 with a body that never ends", () => events(event(notification), new Promise<never>(() => {}))],
  ];
  test.each([400, 401, 500])("%i is the end of it too, and said", async (status) => {
    const { transport, told, clock } = await open(() => new Response("x", { status }));
    await transport.send({ text: "{}", method: "notifications/initialized" });
    expect([told, clock.timers]).toEqual([[{ on: "warning", kind: "undelivered" }], 0]);
  });

  test.each(rows)("%s is the end of it", async (_claim, response) => {
    const { transport, told, clock } = await open(response);
    let left = false;
    void Promise.resolve(transport.send({ text: "{}", method: "notifications/initialized" })).then(() => left = true);
    await settle();
    expect([left, told, clock.timers]).toEqual([true, [], 0]);
  });
});
