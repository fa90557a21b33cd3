import type { Risk } from "./request.ts";

/** What a person allowed for the rest of a session: calls of one tool, as long as nothing about it changes. */
export interface Grant {
  readonly session: string;
  /** The source that the tool's server comes from; `local` for local tools. */
  readonly source: string;
  /** The full name, or the bare name of a local tool. */
  readonly tool: string;
  /** The risk that was decided about; a call with another one is asked again. */
  readonly risk: Risk;
  /** Of the server's configuration and the tool's definition; absent for local tools. */
  readonly fingerprint: string | undefined;
  /** The rules that held when it was given. */
  readonly policyVersion: string;
}

/** Grants of all sessions. In memory: they end with the session or the process. */
export interface Grants {
  /** Remembers a grant; false for a destructive one, which never is, and where the session holds as many as it may. */
  add(grant: Grant): boolean;
  /** True where a grant covers exactly this. One whose tool or rules have changed is dropped. */
  covers(call: Grant): boolean;
  list(session: string): readonly Grant[];
  /** Takes back what a session was granted for a tool; returns how many grants. */
  revoke(session: string, tool: string): number;
  endSession(session: string): void;
}

/** Makes an empty set of grants. At most `maxPerSession` are kept for one session; default 1,000. */
export function createGrants(options: { readonly maxPerSession?: number } = {}): Grants {
  return new MemoryGrants(options.maxPerSession ?? 1000);
}

class MemoryGrants implements Grants {
  readonly #maxPerSession: number;
  /** By session, then by tool: a call asks for one tool. */
  readonly #sessions = new Map<string, Map<string, Grant[]>>();

  constructor(maxPerSession: number) {
    this.#maxPerSession = maxPerSession;
  }

  add(grant: Grant): boolean {
    const { session, source, tool, risk, fingerprint, policyVersion } = grant;
    if (risk === "destructive") return false;
    const tools = this.#sessions.get(session) ?? new Map<string, Grant[]>();
    const others = (tools.get(tool) ?? []).filter((other) => !concernsSame(other, grant));
    if (others.length === (tools.get(tool)?.length ?? 0) && count(tools) >= this.#maxPerSession) return false;
    tools.set(tool, [...others, Object.freeze({ session, source, tool, risk, fingerprint, policyVersion })]);
    this.#sessions.set(session, tools);
    return true;
  }

  covers(call: Grant): boolean {
    const grants = this.#sessions.get(call.session)?.get(call.tool);
    const at = grants?.findIndex((grant) => concernsSame(grant, call)) ?? -1;
    if (grants === undefined || at < 0) return false;
    const { fingerprint, policyVersion } = grants[at]!;
    if (fingerprint === call.fingerprint && policyVersion === call.policyVersion) return true;
    grants.splice(at, 1);
    return false;
  }

  list(session: string): readonly Grant[] {
    return [...(this.#sessions.get(session)?.values() ?? [])].flat();
  }

  revoke(session: string, tool: string): number {
    const tools = this.#sessions.get(session);
    const revoked = tools?.get(tool)?.length ?? 0;
    tools?.delete(tool);
    return revoked;
  }

  endSession(session: string): void {
    this.#sessions.delete(session);
  }
}

function count(tools: ReadonlyMap<string, readonly Grant[]>): number {
  let grants = 0;
  for (const ofTool of tools.values()) grants += ofTool.length;
  return grants;
}

/** A look-alike of another source is another tool, whatever its name and definition. */
function concernsSame(a: Grant, b: Grant): boolean {
  return a.tool === b.tool && a.source === b.source && a.risk === b.risk;
}
