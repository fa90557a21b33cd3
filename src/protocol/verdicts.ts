import { HostError } from "../kernel/errors.ts";
import { isThenable, tell } from "../kernel/listener.ts";
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

/**
 * A cache of the user's that costs a probe and no more when it fails: what it throws or rejects with goes to `failed`,
 * and what it gives that is no verdict, or a promise of one, counts as nothing remembered.
 */
export function checkedVerdicts(cache: VerdictCache, failed: (error: unknown) => void): VerdictCache {
  return {
    get: (key) => {
      let verdict: Verdict | undefined;
      tell(() => {
        const found: unknown = cache.get(key);
        if (!isThenable(found)) return void (verdict = found as Verdict | undefined);
        failed(
          new HostError("ERR_CONFIG", "Cannot use a remembered verdict: found a promise, wanted the verdict itself"),
        );
        return found;
      }, failed);
      return verdict;
    },
    set: (key, verdict) => tell(() => cache.set(key, verdict), failed),
    delete: (key) => tell(() => cache.delete(key), failed),
  };
}
