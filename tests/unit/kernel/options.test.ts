import { describe, expect, it } from "vitest";
import {
  aDelay,
  aFlag,
  aFunction,
  checkOptions,
  having,
  oneOf,
  option,
  type OptionRules,
  wholeFrom,
} from "../../../src/kernel/options.ts";

interface Options {
  readonly approve: () => void;
  readonly log?: unknown;
  readonly mode?: "ask" | "deny";
  readonly most?: number;
  readonly waitMs?: number;
  readonly isOpen?: boolean;
}

const rules: OptionRules<Options> = {
  approve: aFunction,
  log: having("what memoryLog() gives", "open"),
  mode: oneOf("ask", "deny"),
  most: wholeFrom(1),
  waitMs: aDelay,
  isOpen: aFlag,
};
const use = { action: "open a door", code: "ERR_CONFIG", required: ["approve"] } as const;
const approve = (): void => {};

describe("options", () => {
  it.each<[string, unknown, string]>([
    ["nothing", undefined, "found undefined, wanted an object of options"],
    ["null", null, "found null, wanted an object of options"],
    ["a text", "w4", "found a string, wanted an object of options"],
    ["a list", [], "found a list, wanted an object of options"],
    ["an unknown option near to one", { approver: 1 }, `unknown option "approver", did you mean "approve"`],
    [
      "an unknown option near to none",
      { approve, zzzzzz: 1 },
      `unknown option "zzzzzz", wanted "approve", "log", "mode", "most", "waitMs", "isOpen"`,
    ],
    ["what is missing", {}, `"approve" is missing, wanted a function`],
    ["what is missing as undefined", { approve: undefined }, `"approve" is missing, wanted a function`],
    ["a text for a function", { approve: "allow" }, `"approve" is a string, wanted a function`],
    ["a part that was not called", { approve, log: approve }, `"log" is a function, wanted what memoryLog() gives`],
    ["another word", { approve, mode: "allow" }, `"mode" is a string, wanted "ask" or "deny"`],
    ["a broken number", { approve, most: 1.5 }, `"most" is 1.5, wanted a whole number from 1 up`],
    [
      "no number",
      { approve, waitMs: NaN },
      `"waitMs" is NaN, wanted a number of milliseconds above 0, at most 2147483647`,
    ],
    ["a word for a flag", { approve, isOpen: "yes" }, `"isOpen" is a string, wanted true or false`],
    ["null for an option", { approve, mode: null }, `"mode" is null, wanted "ask" or "deny"`],
  ])("options refuse %s", (_what, given, found) => {
    expect(() => checkOptions(given, rules, use)).toThrow(
      expect.objectContaining({ code: "ERR_CONFIG", message: `Cannot open a door: ${found}` }),
    );
  });

  it("options let pass what fits, and what is left out as undefined", () => {
    expect(() => checkOptions({ approve, log: { open: approve }, mode: undefined, most: 1, waitMs: 0.5 }, rules, use))
      .not.toThrow();
  });

  it("options never show a value", () => {
    const secret = option("a colour", () => false);
    expect(() => checkOptions({ token: "s3cret" }, { token: secret }, use)).toThrow(
      `Cannot open a door: "token" is a string, wanted a colour`,
    );
  });
});
