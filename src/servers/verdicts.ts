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
