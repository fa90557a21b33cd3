import { canonicalJson } from "../kernel/canonical.ts";
import type { Desk } from "../permission/desk.ts";
import type { GateVerdict } from "../permission/request.ts";
import type { CallOptions } from "./call.ts";
import type { Outcome } from "./outcome.ts";
import { idTaken } from "./repeats.ts";
import type { Route } from "./resolved.ts";

/** A call that came back as `pending`. */
export interface WaitingCall {
  readonly name: string;
  readonly toolCallId: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: CallOptions;
  readonly route: Route;
  readonly verdict: Extract<GateVerdict, { kind: "ask" }>;
  readonly argsPreview: unknown;
  /** It was sent under another definition and not executed: its `tool.started` is in the log. */
  readonly isStarted: boolean;
  readonly outcome: Outcome;
}

const MAX_WAITING = 100;

/** The calls of a session that wait for decisions at the desk while nobody waits for them. */
export class WaitingCalls {
  readonly #calls = new Map<string, WaitingCall>();
  readonly #desk: Pick<Desk, "list">;
  readonly #session: string;

  constructor(desk: Pick<Desk, "list">, session: string) {
    this.#desk = desk;
    this.#session = session;
  }

  get isFull(): boolean {
    return this.#calls.size >= MAX_WAITING;
  }

  add(call: WaitingCall): void {
    this.#calls.set(call.toolCallId, call);
  }

  /** The call with this id. Throws `ERR_INVALID_ARGUMENTS` where it is another call that has it. */
  find(toolCallId: string, name: string, args: unknown): WaitingCall | undefined {
    const call = this.#calls.get(toolCallId);
    if (call === undefined) return undefined;
    if (call.name === name && canonicalJson(call.args) === canonicalJson(args)) return call;
    throw idTaken(toolCallId);
  }

  /** Takes out the call if it has been decided about; of several callers one gets it. */
  async takeDecided(call: WaitingCall): Promise<boolean> {
    return !(await this.#open()).has(call.verdict.requestId) && this.#calls.delete(call.toolCallId);
  }

  /** Takes out all that have been decided about. `open` are the others. */
  async takeAllDecided(): Promise<{ readonly decided: readonly WaitingCall[]; readonly open: readonly WaitingCall[] }> {
    // Of a call that comes to wait meanwhile the list knows nothing yet.
    const calls = [...this.#calls.values()];
    const asks = await this.#open();
    const open = calls.filter((call) => asks.has(call.verdict.requestId));
    // What another caller has taken out meanwhile is that one's.
    const decided = calls.filter((call) =>
      !asks.has(call.verdict.requestId) && this.#calls.get(call.toolCallId) === call
    );
    for (const { toolCallId } of decided) this.#calls.delete(toolCallId);
    return { decided, open };
  }

  /** Takes out all. */
  takeAll(): readonly WaitingCall[] {
    const all = [...this.#calls.values()];
    this.#calls.clear();
    return all;
  }

  async #open(): Promise<ReadonlySet<string>> {
    return new Set((await this.#desk.list(this.#session)).map((ask) => ask.requestId));
  }
}
