import { HostError } from "../kernel/errors.ts";
import { isThenable, tell } from "../kernel/listener.ts";
import type { Verdict, VerdictCache } from "../protocol/negotiate.ts";

/** Remembers how the last `limit` servers spoke, in memory. Losing a verdict costs one more probe. */
export function memoryVerdicts(limit: number = 1000): VerdictCache {
  const verdicts = new Map<string, Verdict>();
  return {
    get: (key) => verdicts.get(key),
    set: (key, verdict) => {
      verdicts.delete(key);
      verdicts.set(key, verdict);
      if (verdicts.size <= limit) return;
      const [oldest] = verdicts.keys();
      verdicts.delete(oldest!);
    },
    delete: (key) => void verdicts.delete(key),
  };
}

/**
 * A cache of the user's that costs a probe and no more when it fails: what it throws or rejects with goes to `failed`,
 * and what it gives that is no verdict, or a promise of one, counts as nothing remembered. It is asked for addresses
 * without their queries.
 */
export function checkedVerdicts(cache: VerdictCache, failed: (error: unknown) => void): VerdictCache {
  return {
    get: (key) => {
      let verdict: Verdict | undefined;
      tell(() => {
        const found: unknown = cache.get(withoutQuery(key));
        if (!isThenable(found)) return void (verdict = found as Verdict | undefined);
        failed(
          new HostError("ERR_CONFIG", "Cannot use a remembered verdict: found a promise, wanted the verdict itself"),
        );
        return found;
      }, failed);
      return verdict;
    },
    set: (key, verdict) => tell(() => cache.set(withoutQuery(key), verdict), failed),
    delete: (key) => tell(() => cache.delete(withoutQuery(key)), failed),
  };
}

/** Where a cache of the user's keeps its keys is not known here, and queries carry secrets. */
function withoutQuery(key: string): string {
  return /^(?:http|sse):/.test(key) ? key.replace(/\?.*/s, "") : key;
}
