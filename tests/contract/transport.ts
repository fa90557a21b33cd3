import type { LostRequest, TransportEnd, TransportHandlers } from "../../src/jsonrpc/link.ts";
import type { Incoming } from "../../src/jsonrpc/message.ts";
import type { Dialer, Transport, WireProfile } from "../../src/transport/transport.ts";
import { assert, assertEquals, AssertionFailed, assertRejects, type ContractCase } from "./contract.ts";

/** A server under the dialer under test, and what the suite may know of it. */
export interface TransportUnderTest {
  /**
   * Reaches a well-behaved legacy server that wants no handshake, with the tools `echo {message}` and `sleep {ms}`, which
   * reports progress 1, 2 and 3 to whoever gave a token. It may be dialled more than once.
   */
  readonly dialer: Dialer;
  /** Ends the server as a crash would, with every connection to it. Absent where there is nothing that could crash. */
  crash?(): void | Promise<void>;
  /** Processes, connections and timers that live for the dialer's sake. */
  remains(): number | Promise<number>;
  /** Ends the server itself. */
  close(): void | Promise<void>;
}

/** A promise that never settles fails its case after this long, which is much on a busy machine too. */
const PATIENCE_MS = 30_000;

const profile: WireProfile = { sessions: false, cancelsByClosing: false, batches: false, headers: () => ({}) };

/** Everything one connection tells its owner, and a way to wait for it. */
class Ear implements TransportHandlers {
  readonly messages: { readonly message: Incoming; readonly bytes: number; readonly of: number | undefined }[] = [];
  readonly lost: { readonly id: number; readonly lost: LostRequest }[] = [];
  readonly ends: { readonly end: TransportEnd; readonly unsent: ReadonlySet<number> }[] = [];
  readonly others: unknown[] = [];
  #wake = new Set<() => void>();

  onMessage(message: Incoming, bytes: number, of: number | undefined): void {
    this.#told(() => this.messages.push({ message, bytes, of }));
  }
  onMalformed(...told: unknown[]): void {
    this.#told(() => this.others.push(["malformed", ...told]));
  }
  onResent(...told: unknown[]): void {
    this.#told(() => this.others.push(["resent", ...told]));
  }
  onLost(id: number, lost: LostRequest): void {
    this.#told(() => this.lost.push({ id, lost }));
  }
  onWarning(...told: unknown[]): void {
    this.#told(() => this.others.push(["warning", ...told]));
  }
  onClosed(end: TransportEnd, unsent: ReadonlySet<number>): void {
    this.#told(() => this.ends.push({ end, unsent }));
  }

  /** Everything told so far, as one number. */
  get told(): number {
    return this.messages.length + this.lost.length + this.ends.length + this.others.length;
  }

  /** The result under this id, once it is there. Fails at once when the request is lost. */
  async result(id: number): Promise<unknown> {
    const isLost = (): boolean => this.ends.length > 0 || this.lost.some((each) => each.id === id);
    await this.until(`an answer to request ${id}`, () => this.#answer(id) !== undefined || isLost());
    const answer = this.#answer(id);
    if (answer !== undefined) return answer.result;
    throw new AssertionFailed(`request ${id} got no answer: ${JSON.stringify([this.lost, this.ends, this.others])}`);
  }

  until(what: string, check: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!check()) return;
        this.#wake.delete(look);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => reject(new AssertionFailed(`waited in vain for ${what}`)), PATIENCE_MS);
      this.#wake.add(look);
      look();
    });
  }

  #answer(id: number): Extract<Incoming, { kind: "result" }> | undefined {
    for (const { message } of this.messages) if (message.kind === "result" && message.id === id) return message;
    return undefined;
  }

  #told(keep: () => void): void {
    keep();
    for (const look of this.#wake) look();
  }
}

const call = (id: number, name: string, args: object, meta?: object): { text: string; method: string; id: number } => ({
  id,
  method: "tools/call",
  text: JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
  }),
});
const echo = (id: number, message: string): ReturnType<typeof call> => call(id, "echo", { message });
const echoed = (text: string): object => ({ content: [{ type: "text", text }] });

/** What every {@link Dialer} and the transports it makes must do. */
export function transportContract(open: () => TransportUnderTest | Promise<TransportUnderTest>): ContractCase[] {
  type Use = (transport: Transport, ear: Ear, server: TransportUnderTest) => Promise<void>;
  const on = (name: string, use: Use): ContractCase => ({
    name: `transport ${name}`,
    async run(): Promise<void> {
      const server = await open();
      const ear = new Ear();
      try {
        const transport = await server.dialer.dial(profile, ear);
        try {
          await use(transport, ear, server);
        } finally {
          await transport.close();
        }
        assertEquals(await server.remains(), 0, "something is left after the close");
        assertEquals(ear.ends.length, 1, "the end was told another number of times than once");
      } finally {
        await server.close();
      }
    },
  });

  return [
    on(
      "delivers an answer with its size, and says whose stream carried it where it can",
      async (transport, ear, { dialer }) => {
        transport.send(echo(1, "hi"));
        assertEquals(await ear.result(1), echoed("hi"));
        assert(ear.messages[0]!.bytes > 40, `found a size of ${ear.messages[0]!.bytes} bytes`);
        assertEquals(ear.messages[0]!.of, dialer.kind === "web" ? 1 : undefined);
        assertEquals(ear.others, []);
      },
    ),
    on("answers many requests sent at once, each under its id", async (transport, ear) => {
      for (let id = 1; id <= 50; id++) transport.send(echo(id, `message ${id}`));
      for (let id = 1; id <= 50; id++) assertEquals(await ear.result(id), echoed(`message ${id}`));
      assertEquals(ear.messages.length, 50);
    }),
    on("does not hold up a quick answer behind a slow one", async (transport, ear) => {
      transport.send(call(1, "sleep", { ms: 60_000 }));
      transport.send(echo(2, "quick"));
      assertEquals(await ear.result(2), echoed("quick"));
      assertEquals(ear.told, 1);
    }),
    on("delivers what the server sends for a request in its order", async (transport, ear) => {
      transport.send(call(1, "echo", { message: "hi" }, { progressToken: "p" }));
      await ear.result(1);
      const order = ear.messages.map(({ message }) =>
        message.kind === "notification" ? (message.params as { progress?: unknown }).progress : message.kind
      );
      assertEquals(order, [1, 2, 3, "result"]);
    }),
    on("keeps every character, both ways", async (transport, ear) => {
      const text = 'é漢😀\u0000\n\r\n\u2028\u2029\u0085\uFEFF"\\ \ud800 end';
      transport.send(echo(1, text));
      assertEquals(await ear.result(1), echoed(text));
    }),
    on("carries a message of four megabytes, both ways", async (transport, ear) => {
      const text = "0123456789abcdé\n".repeat(256 << 10);
      transport.send(echo(1, text));
      transport.send(echo(2, "behind it"));
      assertEquals(await ear.result(1), echoed(text));
      assertEquals(await ear.result(2), echoed("behind it"));
    }),
    on("resolves what it returns for a notification, and nothing comes of it", async (transport, ear) => {
      const text = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
      await transport.send({ text, method: "notifications/initialized" });
      transport.send(echo(1, "after"));
      await ear.result(1);
      assertEquals(ear.told, 1);
    }),
    on("lets go of a request without touching another, and takes ids it does not know", async (transport, ear) => {
      transport.send(call(1, "sleep", { ms: 100 }));
      transport.send(call(2, "sleep", { ms: 200 }));
      for (const id of [1, 1, 77]) transport.abandon(id);
      await ear.result(2);
      assertEquals([ear.lost.length, ear.ends.length, ear.others], [0, 0, []]);
      transport.send(echo(3, "still here"));
      await ear.result(3);
    }),
    on("tells its end once, when it is closed, however often", async (transport, ear) => {
      await Promise.all([transport.close(), transport.close()]);
      await transport.close();
      assertEquals(ear.ends.map(({ end }) => [end.reason, end.error]), [["closed", undefined]]);
    }),
    on("has told its end when close resolves, and leaves nothing", async (transport, ear, server) => {
      transport.send(echo(1, "hi"));
      await ear.result(1);
      await transport.close();
      assertEquals([ear.ends.length, await server.remains()], [1, 0]);
    }),
    on("is closed with requests in flight, and settles none of them twice", async (transport, ear) => {
      for (let id = 1; id <= 5; id++) transport.send(call(id, "sleep", { ms: 60_000 }));
      await transport.close();
      assertEquals(ear.ends.length, 1);
      const settled = ear.lost.map(({ id }) => id);
      assertEquals(settled.length, new Set(settled).size);
    }),
    on("takes everything after its close and says nothing more", async (transport, ear) => {
      await transport.close();
      const { told } = ear;
      transport.send(echo(1, "late"));
      await transport.send({
        text: JSON.stringify({ jsonrpc: "2.0", method: "notifications/late" }),
        method: "notifications/late",
      });
      transport.abandon(1);
      await transport.close();
      await new Promise((resolve) => setTimeout(resolve, 20));
      assertEquals(ear.told, told);
    }),
    on("of one dial knows nothing of another", async (transport, ear, { dialer }) => {
      const other = new Ear();
      const second = await dialer.dial(profile, other);
      try {
        transport.send(call(1, "sleep", { ms: 60_000 }));
        second.send(echo(1, "second"));
        assertEquals(await other.result(1), echoed("second"));
        assertEquals(ear.told, 0);
      } finally {
        await second.close();
      }
      assertEquals([ear.told, other.ends.length], [0, 1]);
      transport.send(echo(2, "first"));
      await ear.result(2);
    }),
    on(
      "tells a crash once, with an error; a request in flight is not claimed to be unsent",
      async (transport, ear, server) => {
        if (server.crash === undefined) return;
        transport.send(echo(1, "hi"));
        await ear.result(1);
        transport.send(call(2, "sleep", { ms: 60_000 }));
        transport.send(echo(3, "there"));
        await ear.result(3);
        await server.crash();
        const lost = (): boolean => ear.ends.length > 0 || ear.lost.length > 0;
        await ear.until("the loss of the request or the connection", lost);
        if (ear.ends.length > 0) {
          const { end, unsent } = ear.ends[0]!;
          assert(
            end.reason !== "closed" && end.error !== undefined,
            `found reason ${end.reason}, error ${String(end.error)}`,
          );
          assert(!unsent.has(2), "the request is said to be unsent");
        } else assertEquals(ear.lost.map(({ id, lost: { sent } }) => [id, sent]), [[2, true]]);
        await transport.close();
        assertEquals(ear.ends.length, 1);
      },
    ),
    {
      name: "dialer refuses an aborted signal, and leaves nothing",
      async run(): Promise<void> {
        const server = await open();
        try {
          const ear = new Ear();
          await assertRejects(() => server.dialer.dial(profile, ear, AbortSignal.abort()), "ERR_CANCELLED");
          assertEquals([ear.told, await server.remains()], [0, 0]);
        } finally {
          await server.close();
        }
      },
    },
    {
      name: "dialer states its kind, its name and a key without a secret",
      async run(): Promise<void> {
        const server = await open();
        try {
          const { kind, name, key } = server.dialer;
          assert(kind === "pipe" || kind === "web", `found kind ${kind}`);
          assert(name !== "" && key.startsWith(name) && !key.includes("secret"), `found name ${name}, key ${key}`);
        } finally {
          await server.close();
        }
      },
    },
  ];
}
