import type { Clock } from "../../../src/kernel/clock.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { negotiate, type Negotiated, type NegotiateOptions } from "../../../src/protocol/negotiate.ts";
import { type MemoryConnection, memoryDialer } from "../../../src/transport/memory.ts";
import type { Dialer } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

/** What a server does about one method: a result, an error, nothing at all, or something to its connection. */
export type Act =
  | object
  | undefined
  | ((connection: MemoryConnection, id: unknown, params: unknown) => object | undefined | void);
export type Script = Readonly<Record<string, Act>>;

export const failure = (code: number, data?: unknown): object => ({
  error: { code, message: "no", ...(data === undefined ? {} : { data }) },
});
export const answer = (result: object): object => ({ result });
export const discovered = (...supportedVersions: string[]): object =>
  answer({ supportedVersions, capabilities: { tools: {} } });
export const initialized = (protocolVersion: unknown): object =>
  answer({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
export const exits = (exitCode: number) => (connection: MemoryConnection): void =>
  connection.end({
    reason: "exit",
    exitCode,
    stderrTail: "why",
    error: new HostError("ERR_CONNECTION_LOST", `Connection to the server was lost: it exited with code ${exitCode}`),
  });

/** A dialer to a server that acts by scripts, the first connection by the first, and so on; the last one is used again. */
export class ScriptedServer {
  readonly heard: string[] = [];
  dials = 0;
  open = 0;
  readonly dialer: Dialer;

  constructor(scripts: Script | Script[], kind: Dialer["kind"] = "pipe") {
    const list = Array.isArray(scripts) ? scripts : [scripts];
    const memory = memoryDialer((connection) => {
      const script = list[Math.min(this.dials++, list.length - 1)]!;
      this.open++;
      return {
        onMessage: ({ id, method, params }) => {
          this.heard.push(String(method));
          const act = script[String(method)];
          const reply = typeof act === "function" ? act(connection, id, params) : act;
          if (reply !== undefined && id !== undefined) connection.send({ jsonrpc: "2.0", id, ...reply });
        },
        onClose: () => this.open--,
      };
    });
    this.dialer = { ...memory, kind };
  }
}

export interface Attempted {
  readonly clock: FakeClock;
  outcome: Negotiated | undefined;
  // deno-lint-ignore no-explicit-any
  error: any;
}

/** Starts to negotiate; what comes of it is filled in. */
export function attempt(
  dialer: Dialer,
  options: Partial<NegotiateOptions> & { readonly clock?: Clock } = {},
): Attempted {
  const clock = new FakeClock();
  const attempted: Attempted = { clock, outcome: undefined, error: undefined };
  void negotiate({
    dialer,
    clock,
    handlers: { onNotification: () => {}, onWarning: () => {}, onEnd: () => {} },
    startTimeoutMs: 30_000,
    probeTimeoutMs: 3000,
    clientInfo: { name: "c", version: "1" },
    capabilities: {},
    ...options,
  }).then((outcome) => attempted.outcome = outcome, (error: unknown) => attempted.error = error);
  return attempted;
}

/** The same, and waits until it can only go on with time. */
export async function attempted(dialer: Dialer, options: Partial<NegotiateOptions> = {}): Promise<Attempted> {
  const running = attempt(dialer, options);
  await settle();
  return running;
}
