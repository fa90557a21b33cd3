import { createHash } from "node:crypto";
import type { Digest } from "../../src/kernel/runtime.ts";

/** SHA-256 in steps, by the runtime's own crypto library. */
export function nodeSha256(): Digest {
  const hash = createHash("sha256");
  return {
    update(bytes: Uint8Array): void {
      hash.update(bytes);
    },
    hex: (): string => hash.digest("hex"),
  };
}
