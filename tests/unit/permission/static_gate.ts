import type { Allowed, Denied, Gate, GateRequest, GateVerdict } from "../../../src/permission/request.ts";

type Settled = Awaited<ReturnType<Extract<GateVerdict, { kind: "ask" }>["wait"]>>;

/** The smallest gate there can be: two lists of names, everything else is denied. It shares no code with ours. */
export class StaticGate implements Gate {
  readonly #allow: readonly string[];
  readonly #ask: readonly string[];
  readonly #open = new Map<
    string,
    { session: string; settle: (decision: "allow" | "deny", actor: "user" | "host") => void }
  >();
  #requests = 0;

  constructor(lists: { readonly allow: readonly string[]; readonly ask: readonly string[] }) {
    this.#allow = lists.allow;
    this.#ask = lists.ask;
  }

  async decide(request: GateRequest): Promise<GateVerdict> {
    const { toolCallId, tool, by, session, signal, onAsk } = request;
    const requestId = `static_${++this.#requests}`;
    const shown = JSON.stringify(request.args);
    const args = shown.length <= 1024 ? request.args : shown.slice(0, 1024);
    const payload = { requestId, toolCallId, tool, args, riskAtDecision: "network", sourcedFrom: "rule", by };
    const requested = { type: "permission.requested", payload } as const;
    const resolved = (actor: string, outcome: Allowed | Denied): Settled => {
      const { decision, sourcedFrom } = outcome;
      return {
        events: [{ type: "permission.resolved", payload: { requestId, decision, actor, sourcedFrom } }],
        outcome,
      };
    };
    const decided = (actor: string, outcome: Allowed | Denied): GateVerdict => {
      return {
        kind: "decided",
        requestId,
        risk: "network",
        events: [requested, ...resolved(actor, outcome).events],
        outcome,
      };
    };
    if (this.#allow.includes(tool)) return decided("policy", { decision: "allow", sourcedFrom: "rule" });
    if (!this.#ask.includes(tool)) {
      return decided("policy", { decision: "deny", sourcedFrom: "default", reason: "permission_denied" });
    }
    if (onAsk === "deny") {
      return decided("host", { decision: "deny", sourcedFrom: "no_approver", reason: "no_approver" });
    }
    const settled = new Promise<Settled>((resolve) => {
      const settle = (decision: "allow" | "deny", actor: "user" | "host"): void => {
        this.#open.delete(requestId);
        const sourcedFrom = decision === "allow" ? "allow_once" : actor === "user" ? "user_deny" : "host_stop";
        const reason = "permission_denied";
        resolve(resolved(actor, decision === "allow" ? { decision, sourcedFrom } : { decision, sourcedFrom, reason }));
      };
      this.#open.set(requestId, { session, settle });
      signal?.addEventListener("abort", () => settle("deny", "host"), { once: true });
      if (signal?.aborted) settle("deny", "host");
    });
    const returnPending = onAsk === "return";
    return { kind: "ask", requestId, risk: "network", events: [requested], returnPending, wait: () => settled };
  }

  answer(requestId: string, decision: "allow" | "deny"): void {
    this.#open.get(requestId)!.settle(decision, "user");
  }

  endSession(session: string): void {
    for (const ask of [...this.#open.values()]) if (ask.session === session) ask.settle("deny", "host");
  }

  close(): void {
    for (const ask of [...this.#open.values()]) ask.settle("deny", "host");
  }
}
