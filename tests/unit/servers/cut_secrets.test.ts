import { expect, test } from "vitest";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { createScrubber } from "../../../src/scrub/known_values.ts";
import { scrubbedExcerpt, scrubbedTail } from "../../../src/servers/fault.ts";

const SECRET = Array.from({ length: 90 }, (_, at) => `part-${at}-`).join("");

function scrubberOfOne() {
  const registry = new SecretRegistry();
  registry.add("env.SAMPLE", SECRET);
  return createScrubber(registry);
}

/** Any run of the secret that is long enough to be told from chance. */
function showsAny(text: string): boolean {
  for (let at = 0; at + 12 <= SECRET.length; at += 6) if (text.includes(SECRET.slice(at, at + 12))) return true;
  return false;
}

test("excerpt of a text that is full of a secret shows no part of it, wherever the text is cut", () => {
  const scrubber = scrubberOfOne();
  for (let lead = 0; lead < SECRET.length; lead += 7) {
    const text = "x".repeat(lead) + SECRET.repeat(40);
    expect(showsAny(scrubbedExcerpt(text, scrubber, 200)), `after ${lead}`).toBe(false);
  }
});

test("excerpt keeps a text that holds no secret", () => {
  expect(scrubbedExcerpt("plain ".repeat(2000), scrubberOfOne(), 20)).toBe("plain plain plain pl");
});

test("tail is scrubbed before it is cut", () => {
  const scrubber = scrubberOfOne();
  for (let length = 10; length < 400; length += 13) {
    expect(showsAny(scrubbedTail(`${"y".repeat(500)}${SECRET}${"z".repeat(100)}`, scrubber, length))).toBe(false);
  }
  expect(scrubbedTail("one\ntwo\nthree", scrubber, 9)).toBe("three");
});
