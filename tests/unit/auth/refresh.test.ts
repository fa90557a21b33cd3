import { describe, expect, test } from "vitest";
import { type OAuthConnection, oauthFor, type OAuthOptions } from "../../../src/auth/mod.ts";
import type { KeyValue } from "../../../src/store/key_value.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { FakeAuthorization, request } from "../../fixtures/fake_authorization.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const HOUR_MS = 3_600_000;

interface Setup {
  readonly as: FakeAuthorization;
  readonly clock: FakeClock;
  readonly store: KeyValue;
  /** Another source over the same store, as another process has it. */
  connect(more?: Partial<OAuthOptions>): Promise<OAuthConnection>;
  refreshes(): number;
}

function setUp(as: FakeAuthorization = new FakeAuthorization({ expiresIn: 3600 })): Setup {
  const clock = new FakeClock();
  const store = memoryKeyValue();
  const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:9/", open: as.consent } as const;
  return {
    as,
    clock,
    store,
    connect: (more) => oauthFor({ url: as.endpoint, fetch: as.fetch, grant, clock, store, ...more }),
    refreshes: () => as.tokenRequests.filter(({ form }) => form.get("grant_type") === "refresh_token").length,
  };
}

/** The one token record of a store, as it lies there. */
async function recordIn(store: KeyValue): Promise<Record<string, unknown>> {
  const [entry] = await store.list("oauth/token/");
  return JSON.parse(new TextDecoder().decode(entry!.value)) as Record<string, unknown>;
}

/** Puts a lease of somebody else's on it. */
async function lease(store: KeyValue, until: number): Promise<void> {
  const [entry] = await store.list("oauth/token/");
  const leased = { ...await recordIn(store), lease: { by: "lease_of_another", until } };
  await store.compareAndSet(entry!.key, entry!.value, new TextEncoder().encode(JSON.stringify(leased)));
}

/** Waits for something while the clock runs. */
async function whileRunning<T>(clock: FakeClock, promise: Promise<T>, stepMs = 100): Promise<T> {
  let isDone = false;
  promise.then(() => isDone = true, () => isDone = true);
  for (let step = 0; !isDone && step < 1_000; step++) await clock.advance(stepMs);
  return await promise;
}

describe("refresh of a token", () => {
  test.each([[HOUR_MS - 30_001, 0], [HOUR_MS - 30_000, 1], [2 * HOUR_MS, 1]])(
    "after %i ms of an hour: %i, before anything is refused",
    async (elapsed, refreshes) => {
      const { as, clock, connect, refreshes: made } = setUp();
      const connection = await connect();
      await request(connection, as.endpoint);
      const before = as.to(as.endpoint).length;
      await clock.advance(elapsed);
      expect(await request(connection, as.endpoint)).toBe(200);
      expect(made()).toBe(refreshes);
      expect(as.to(as.endpoint).length - before).toBe(1);
    },
  );

  test("names the resource and shows the token that was last given", async () => {
    const { as, clock, connect } = setUp();
    const connection = await connect();
    for (let hour = 0; hour < 3; hour++) {
      await request(connection, as.endpoint);
      await clock.advance(HOUR_MS);
    }
    const [, first, second] = as.tokenRequests;
    expect(first!.form.get("resource")).toBe(as.endpoint);
    expect(second!.form.get("refresh_token")).not.toBe(first!.form.get("refresh_token"));
    expect(as.asked).toHaveLength(1);
  });

  test("FR-40 1,000 calls over an expired token make one request", async () => {
    const { as, clock, connect, refreshes } = setUp();
    const connection = await connect();
    await request(connection, as.endpoint);
    await clock.advance(HOUR_MS);
    const calls = Array.from({ length: 1_000 }, () => request(connection, as.endpoint));
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    expect(refreshes()).toBe(1);
    expect(as.asked).toHaveLength(1);
  });

  test("FR-40 1,000 calls whose token was refused make one request", async () => {
    const { as, connect, refreshes } = setUp(new FakeAuthorization());
    const connection = await connect();
    await request(connection, as.endpoint);
    as.revoke();
    const calls = Array.from({ length: 1_000 }, () => request(connection, as.endpoint));
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    expect(refreshes()).toBe(1);
    expect(as.asked).toHaveLength(1);
  });

  test("FR-40 three sources over one store make one request, and all have its token", async () => {
    const { as, clock, store, connect, refreshes } = setUp();
    const all = [await connect(), await connect(), await connect()];
    for (const each of all) await request(each, as.endpoint);
    expect(as.asked).toHaveLength(1);
    await clock.advance(HOUR_MS);
    const calls = all.flatMap((each) => Array.from({ length: 50 }, () => request(each, as.endpoint)));
    expect(new Set(await whileRunning(clock, Promise.all(calls)))).toEqual(new Set([200]));
    expect(refreshes()).toBe(1);
    expect(as.asked).toHaveLength(1);
    const shown = await Promise.all(all.map((each) => each.tokens.authorization(as.endpoint)));
    expect(new Set(shown)).toEqual(new Set([`Bearer ${(await recordIn(store))["access"] as string}`]));
    expect((await recordIn(store))["lease"]).toBeUndefined();
    expect(clock.timers).toBe(0);
  });

  test("of a lease that runs is waited for, and taken over once it has run out", async () => {
    const { as, clock, store, connect, refreshes } = setUp();
    const connection = await connect();
    await request(connection, as.endpoint);
    await clock.advance(HOUR_MS);
    await lease(store, clock.now() + 45_000);
    const call = request(connection, as.endpoint);
    await clock.advance(44_000);
    expect(refreshes()).toBe(0);
    expect(await whileRunning(clock, call)).toBe(200);
    expect(refreshes()).toBe(1);
    expect((await recordIn(store))["lease"]).toBeUndefined();
  });

  test("FR-40 that comes too late takes what the other has brought, and erases nothing", async () => {
    const { as, clock, store, connect } = setUp();
    const [slow, quick] = [await connect(), await connect()];
    await request(slow, as.endpoint);
    await request(quick, as.endpoint);
    await clock.advance(HOUR_MS);
    const token = `${as.issuer}/token`;
    let release: (() => void) | undefined;
    as.answers.set(token, () =>
      new Promise((resolve) => {
        as.answers.delete(token);
        release = () => resolve(Response.json({ error: "invalid_grant" }, { status: 400 }));
      }));
    const late = request(slow, as.endpoint);
    await clock.advance(0);
    // Its lease runs out while its request is on its way.
    await lease(store, clock.now());
    expect(await whileRunning(clock, request(quick, as.endpoint))).toBe(200);
    const record = await recordIn(store);
    release!();
    expect(await whileRunning(clock, late)).toBe(200);
    expect(await recordIn(store)).toEqual(record);
    expect(as.asked).toHaveLength(1);
  });

  test("that ends in invalid_grant drops its refresh token and logs in anew", async () => {
    const { as, clock, connect, refreshes } = setUp();
    const connection = await connect();
    await request(connection, as.endpoint);
    as.revoke();
    await clock.advance(HOUR_MS);
    const token = `${as.issuer}/token`;
    as.answers.set(token, () => {
      as.answers.delete(token);
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    });
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(refreshes()).toBe(1);
    expect(as.asked).toHaveLength(2);
  });

  test("FR-41 whose client is forgotten registers again before a person is asked", async () => {
    const { as, clock, connect } = setUp();
    const connection = await connect();
    await request(connection, as.endpoint);
    as.revoke();
    await clock.advance(HOUR_MS);
    const token = `${as.issuer}/token`;
    as.answers.set(token, () => {
      as.answers.delete(token);
      return Response.json({ error: "invalid_client" }, { status: 401 });
    });
    expect(await request(connection, as.endpoint)).toBe(200);
    const ids = as.asked.map((each) => each.searchParams.get("client_id"));
    expect(new Set(ids).size).toBe(2);
    expect(ids).toHaveLength(2);
  });

  test.each([
    ["500", () => new Response("planted", { status: 500 })],
    ["503 of an OAuth form", () => Response.json({ error: "invalid_grant" }, { status: 503 })],
    ["429", () => Response.json({ error: "temporarily_unavailable" }, { status: 429 })],
    ["a broken connection", () => Promise.reject(new TypeError("planted"))],
  ])("that meets %s keeps its refresh token", async (_what, answer) => {
    const { as, clock, store, connect } = setUp();
    const connection = await connect();
    await request(connection, as.endpoint);
    const { refresh } = await recordIn(store);
    await clock.advance(HOUR_MS);
    as.answers.set(`${as.issuer}/token`, answer);
    const error = await request(connection, as.endpoint).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(String(error)).not.toMatch(/planted|refresh-/);
    expect(await recordIn(store)).toMatchObject({ refresh });
    expect((await recordIn(store))["lease"]).toBeUndefined();
    as.answers.clear();
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(as.asked).toHaveLength(1);
  });

  test("whose fruit is refused is not tried again: a login follows", async () => {
    const { as, connect, refreshes } = setUp(new FakeAuthorization());
    const connection = await connect();
    await request(connection, as.endpoint);
    as.answers.set(as.endpoint, ({ headers }) => {
      if (as.asked.length === 2) as.answers.clear();
      return new Response(null, { status: as.asked.length === 2 && headers.has("authorization") ? 200 : 401 });
    });
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(refreshes()).toBe(1);
    expect(as.asked).toHaveLength(2);
  });

  test("is not assumed where no refresh token was given (C-AUTH-30)", async () => {
    const { as, connect, refreshes } = setUp(new FakeAuthorization({ refreshes: false }));
    const connection = await connect();
    await request(connection, as.endpoint);
    as.revoke();
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(refreshes()).toBe(0);
    expect(as.asked).toHaveLength(2);
  });
});
