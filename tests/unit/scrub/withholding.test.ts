import { describe, expect, it } from "vitest";
import { chainScrubbers } from "../../../src/scrub/chain.ts";
import type { Scrubber } from "../../../src/scrub/scrubber.ts";
import { WITHHELD, withholding } from "../../../src/scrub/withholding.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";

function failingOn(bad: string): Scrubber {
  const text = (given: string): string => {
    if (given.includes(bad)) throw new TypeError("bad");
    return given;
  };
  return {
    text,
    value: (given) => (text(JSON.stringify(given)), given),
    stream: () => ({ push: text, end: () => "" }),
  };
}

function made(bad: string) {
  const known = plainScrubber("hunter2hunter2");
  const errors: unknown[] = [];
  const strict = chainScrubbers(known, failingOn(bad));
  const scrubber = withholding(strict, { known, onError: (error) => errors.push(error), keep: new Set(["id"]) });
  return { strict, scrubber, errors };
}

describe("a scrubber that withholds", () => {
  it("passes on what the others leave of a text, or nothing of it", () => {
    const { scrubber } = made("bad");
    expect(scrubber.text("a hunter2hunter2")).toBe("a [redacted]");
    expect(scrubber.text("a bad hunter2hunter2")).toBe(WITHHELD);
  });

  it("withholds text by text of a value, and keeps ids and other members", () => {
    const { scrubber } = made("bad");
    const value = {
      id: "bad_1",
      text: "bad",
      good: ["x", "bad", { id: "bad", n: 1, bad: 2 }],
      hunter2hunter2: null,
    };
    expect(scrubber.value(value)).toEqual({
      id: "bad_1",
      text: WITHHELD,
      good: ["x", WITHHELD, { id: WITHHELD, n: 1 }],
      "[redacted]": null,
    });
    expect(scrubber.value({ id: "bad prose" })).toEqual({ id: WITHHELD });
    expect(scrubber.value({ id: "bad-hunter2hunter2" })).toEqual({ id: "bad-[redacted]" });
  });

  it("of a stream passes on nothing behind a failure", () => {
    const { scrubber } = made("bad");
    const stream = scrubber.stream();
    expect([stream.push("x "), stream.push("bad"), stream.push("rest"), stream.end()].join("")).toContain(WITHHELD);
    const noStream = withholding({
      ...made("x").strict,
      stream: () => {
        throw new Error("none");
      },
    }, {
      known: plainScrubber(),
      onError: () => {},
      keep: new Set(),
    }).stream();
    expect([noStream.push("a"), noStream.push("b"), noStream.end()]).toEqual([WITHHELD, "", ""]);
  });

  it("tells of its first failure, then of the tenth", () => {
    const { scrubber, errors } = made("bad");
    for (let count = 0; count < 10; count++) scrubber.text("bad");
    expect(errors).toHaveLength(2);
    expect(errors[0]).toMatchObject({ code: "ERR_CONFIG" });
  });
});

describe("a chain of scrubbers", () => {
  it.each([
    ["no text", { text: () => undefined }],
    ["a promise", { text: () => Promise.resolve("") }],
    ["an exception", {
      text: () => {
        throw new RangeError("x");
      },
    }],
  ])("fails with ERR_CONFIG where one gives %s", (_what, part) => {
    const strict = chainScrubbers(plainScrubber(), { ...plainScrubber(), ...part } as unknown as Scrubber);
    expect(() => strict.text("a")).toThrow(expect.objectContaining({ code: "ERR_CONFIG" }));
  });

  it("fails where one gives no value", () => {
    for (const value of [() => undefined, () => Promise.resolve({})]) {
      const strict = chainScrubbers(plainScrubber(), { ...plainScrubber(), value } as unknown as Scrubber);
      expect(() => strict.value({ a: 1 })).toThrow(expect.objectContaining({ code: "ERR_CONFIG" }));
    }
  });
});
