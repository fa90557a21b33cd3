import { describe, test } from "vitest";
import type { ContractCase } from "../contract/contract.ts";

/** Gives a contract suite to vitest, one test a case. */
export function feed(suite: string, cases: readonly ContractCase[]): void {
  describe(suite, () => {
    for (const each of cases) test(each.name, () => each.run());
  });
}
