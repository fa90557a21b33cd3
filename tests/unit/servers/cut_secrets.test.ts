import { expect, test } from "vitest";
import { readOutput } from "../../../src/call/output.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { createScrubber } from "../../../src/scrub/known_values.ts";
import { isHostError } from "../../../src/kernel/errors.ts";
import { scrubbedExcerpt, scrubbedTail } from "../../../src/servers/fault.ts";
import { offersChangedEvent, readyEvent, rejectedEvents } from "../../../src/servers/server_events.ts";
import { shownError } from "../../../src/servers/shown_error.ts";
import { wrongResponse } from "../../../src/transport/http_body.ts";

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

test("what a server says of itself is scrubbed before it is cut", () => {
  const scrubber = scrubberOfOne();
  const counts = { tools: 0, resources: undefined, prompts: undefined };
  for (let lead = 0; lead < 260; lead += 20) {
    const text = "x".repeat(lead) + SECRET;
    const facts = {
      era: "legacy",
      protocolVersion: "any",
      serverInfo: { name: text, version: text },
      capabilities: { [text]: {}, experimental: { long: "y".repeat(3000) } },
      instructions: undefined,
    } as const;
    const events = [
      readyEvent("a", facts, counts, 1, scrubber),
      ...rejectedEvents("a", [{ tool: text, why: text }], scrubber),
    ];
    expect(showsAny(JSON.stringify(events)), `after ${lead}`).toBe(false);
  }
});

test("what is quoted of a response is whole and as it came until it is scrubbed", () => {
  const scrubber = scrubberOfOne();
  const registry = new SecretRegistry();
  registry.add("env.SAMPLE", "S3cretValue-ABCDEFGH");
  const mixed = createScrubber(registry);
  for (let lead = 0; lead < 210; lead += 10) {
    const text = `${"x".repeat(lead)}${SECRET}`;
    const response = new Response("", { status: 500, headers: { "content-type": `text/${text}; charset=utf-8` } });
    const shown = shownError(wrongResponse("read", response, "a message", text), scrubber);
    expect(showsAny(JSON.stringify([shown, isHostError(shown) && shown.message])), `after ${lead}`).toBe(false);
  }
  const response = new Response("", { status: 500, headers: { "content-type": "text/S3cretValue-ABCDEFGH" } });
  const shown = shownError(wrongResponse("read", response, "a message", ""), mixed) as Error;
  expect(JSON.stringify([shown, shown.message]).toLowerCase()).not.toContain("s3cretvalue");
});

test("addresses of what a server offers, and labels of what is no text, are scrubbed whole", async () => {
  const scrubber = scrubberOfOne();
  for (let lead = 0; lead < 260; lead += 20) {
    const uri = `${"x".repeat(lead)}${SECRET}`;
    const event = offersChangedEvent("a", "resources", new Map(), new Map([[uri, {}]]));
    expect(showsAny(JSON.stringify(scrubber.value(event.payload))), `event after ${lead}`).toBe(false);
    const output = await readOutput(
      { content: [{ type: "resource_link", uri, mimeType: uri }] },
      { scrubber, previewBytes: 500, maxOutputBytes: 1 << 20, onError: () => {} },
      undefined,
    );
    expect(showsAny(JSON.stringify(output)), `label after ${lead}`).toBe(false);
  }
});
