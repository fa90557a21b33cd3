import type { EraName } from "./versions.ts";

/** What an earlier contact found out about a server, and when. */
export interface Verdict {
  readonly era: EraName;
  readonly protocolVersion: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Remembers verdicts by {@link Dialer.key}. */
export interface VerdictCache {
  get(key: string): Verdict | undefined;
  set(key: string, verdict: Verdict): void;
  delete(key: string): void;
}
