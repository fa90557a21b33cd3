import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { chainScrubbers } from "../../../src/scrub/chain.ts";
import { createScrubber } from "../../../src/scrub/known_values.ts";
import type { Scrubber } from "../../../src/scrub/scrubber.ts";
import { scrubberCases } from "../../contract/scrubber.ts";

function registry(...values: readonly string[]): SecretRegistry {
  const secrets = new SecretRegistry();
  values.forEach((value, n) => secrets.add(`k${n + 1}`, value));
  return secrets;
}

/** Covers every occurrence of every value, without any cleverness: the places that must not be passed on. */
function covered(text: string, values: readonly string[]): boolean[] {
  const places = Array.from({ length: text.length }, () => false);
  for (const value of values) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      places.fill(true, at, at + value.length);
    }
  }
  return places;
}

/** What is left of a text, with each covered run as one separator. */
function remains(text: string, values: readonly string[]): string {
  const places = covered(text, values);
  let out = "";
  for (let at = 0; at < text.length; at++) {
    if (!places[at]) out += text[at];
    else if (!places[at - 1]) out += "\u0001";
  }
  return out;
}

const withoutMarkers = (text: string): string => text.replace(/(?:\[redacted:k\d+#\d+\]|\u0001)+/g, "\u0001");

// Few letters, so that secrets overlap, contain and repeat one another; brackets, so that they meet markers.
const letters = fc.constantFrom("a", "b", "[", "]", "r", '"', "\\");
const secretValue = fc.array(letters, { minLength: 8, maxLength: 14 }).map((list) => list.join(""));
const secretValues = fc.uniqueArray(secretValue, { minLength: 1, maxLength: 6 });
const textOver = (values: readonly string[]) =>
  fc.array(
    fc.oneof(
      fc.constantFrom(...values),
      fc.constantFrom(...values).chain((value) =>
        fc.tuple(fc.nat(value.length), fc.nat(value.length)).map(([a, b]) =>
          value.slice(Math.min(a, b), Math.max(a, b))
        )
      ),
      letters,
      fc.constantFrom("[redacted:k1#1]", "[redacted:k9#9]", "[redacted:", "#1]"),
    ),
    { maxLength: 24 },
  ).map((parts) => parts.join(""));
const secretsAndText = secretValues.chain((values) => fc.tuple(fc.constant(values), textOver(values)));

describe("scrubber of known values", () => {
  for (const { name, run } of scrubberCases("scrubber of known values", createScrubber)) it(name, run);

  it("passes on exactly what no secret covers", () => {
    fc.assert(
      fc.property(secretsAndText, ([values, text]) => {
        // Texts with markers of ours are cut at them; those have a test of their own.
        fc.pre(!text.includes("[redacted:k1#1]"));
        expect(withoutMarkers(createScrubber(registry(...values)).text(text))).toBe(
          withoutMarkers(remains(text, values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]))),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it("never alters what it has scrubbed", () => {
    fc.assert(
      fc.property(secretsAndText, ([values, text]) => {
        const scrubber = createScrubber(registry(...values));
        const once = scrubber.text(text);
        expect(scrubber.text(once)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });

  it("gives the same however a text is cut", () => {
    fc.assert(
      fc.property(secretsAndText, fc.infiniteStream(fc.integer({ min: 0, max: 5 })), ([values, text], sizes) => {
        const scrubber = createScrubber(registry(...values));
        const stream = scrubber.stream();
        let out = "";
        for (let at = 0; at < text.length;) {
          const size = sizes.next().value;
          out += stream.push(text.slice(at, at + size));
          at += size;
        }
        expect(out + stream.end()).toBe(scrubber.text(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps back only what may be the beginning of a secret", () => {
    const stream = createScrubber(registry("hunter-of-keys")).stream();
    expect(stream.push("nothing here ")).toBe("nothing here ");
    expect(stream.push("hunt")).toBe("");
    expect(stream.push("ing hunter")).toBe("hunting ");
    expect(stream.end()).toBe("hunter");
  });

  it.each([
    ["the longer of two that begin alike", ["token-12", "token-12-long"], "x token-12-long y", "x [redacted:k2#2] y"],
    [
      "the shorter where the longer does not fit",
      ["token-12", "token-12-long"],
      "token-12-lost",
      "[redacted:k1#1]-lost",
    ],
    ["the longer of two that end alike", ["token-12", "my-token-12"], "a my-token-12 b", "a [redacted:k2#2] b"],
    ["one inside another", ["oken-12-", "a-token-12-b"], "a-token-12-b", "[redacted:k2#2]"],
    [
      "both of two that overlap",
      ["abcdefgh12", "gh12345678"],
      "-abcdefgh12345678-",
      "-[redacted:k1#1][redacted:k2#2]-",
    ],
    ["each of two that touch", ["abcdefgh"], "abcdefghabcdefgh", "[redacted:k1#1][redacted:k1#1]"],
    ["one that overlaps itself", ["abababab"], "xababababababx", "x[redacted:k1#1]x"],
    ["one with letters beyond ASCII", ["pässwörd-日本"], "=pässwörd-日本=", "=[redacted:k1#1]="],
    ["one with half a pair before it", ["😀secret😀"], "\ud83d😀secret😀", "\ud83d[redacted:k1#1]"],
  ])("takes out %s", (_, values, text, wanted) => {
    expect(createScrubber(registry(...values)).text(text)).toBe(wanted);
  });

  it("finds a secret inside JSON text, where it is escaped", () => {
    const value = 'pass"word\\with\nlines';
    const scrubber = createScrubber(registry(value));
    expect(scrubber.text(JSON.stringify({ value }))).toBe('{"value":"[redacted:k1#1]"}');
    expect(scrubber.text(value)).toBe("[redacted:k1#1]");
  });

  it("does not take a marker for hiding place: only its own are left alone", () => {
    const scrubber = createScrubber(registry("topsecretvalue"));
    expect(scrubber.text("[redacted:topsecretvalue#1]")).toBe("[redacted:[redacted:k1#1]#1]");
    expect(scrubber.text("[redacted:k1#1]")).toBe("[redacted:k1#1]");
  });

  it("leaves its own markers alone when a secret is part of one", () => {
    const scrubber = createScrubber(registry("redacted", "[redacted:", "k1#1][redac"));
    const once = scrubber.text("redacted and [redacted: and redactedredacted");
    expect(once).toBe("[redacted:k1#1] and [redacted:k2#2] and [redacted:k1#1][redacted:k1#1]");
    expect(scrubber.text(once)).toBe(once);
  });

  it("makes labels that give nothing away and cannot end a marker", () => {
    const secrets = new SecretRegistry();
    secrets.add("env]\n#1 [x", "first-secret");
    secrets.add("my-second-secret-label", "second-secret");
    secrets.add("l".repeat(300), "third-secret");
    const text = createScrubber(secrets).text("first-secret second-secret third-secret");
    expect(text).toBe(`[redacted:env___1__x#1] [redacted:secret#2] [redacted:${"l".repeat(48)}#3]`);
  });

  it("stops numbering after 1,024 secrets", () => {
    const values = Array.from({ length: 1_100 }, (_, n) => `secret-number-${n}-`);
    const scrubber = createScrubber(registry(...values));
    expect(scrubber.text(values[1_023]!)).toBe("[redacted:k1024#1024]");
    expect(scrubber.text(values[1_024]!)).toBe("[redacted:k1025]");
    expect(scrubber.text("[redacted:k1025]")).toBe("[redacted:k1025]");
  });

  it("finds a secret that is registered while a stream is under way", () => {
    const secrets = registry("the-first-secret");
    const stream = createScrubber(secrets).stream();
    let text = stream.push("a the-first-secret the-first-sec");
    secrets.add("later", "first-sec-and-more");
    text += stream.push("-and-more!") + stream.end();
    expect(text).toBe("a [redacted:k1#1] the-[redacted:later#2]!");
  });

  it("keeps both members when two keys become equal", () => {
    const scrubber = createScrubber(registry("secret-key-1"));
    const scrubbed = scrubber.value({ "secret-key-1": 1, "[redacted:k1#1]": 2 });
    expect(scrubbed).toEqual({ "[redacted:k1#1]": 1, "[redacted:k1#1]~": 2 });
  });
});

describe("chained scrubbers", () => {
  /** Stands for a scrubber by pattern: hides runs of digits, and keeps back a run that may go on. */
  const digits = (): Scrubber => {
    const text = (value: string): string => value.replace(/(?<!#)\b\d{4,}/g, "[redacted:digits]");
    return {
      text,
      value: (value) => JSON.parse(text(JSON.stringify(value))),
      stream: () => {
        let held = "";
        return {
          push: (part) => {
            const all = held + part;
            const end = /[\d#]*$/.exec(all)!.index;
            held = all.slice(end);
            return text(all.slice(0, end));
          },
          end: () => text(held),
        };
      },
    };
  };
  const chain = (): Scrubber => chainScrubbers(createScrubber(registry("known-1234567")), digits());

  it("apply the second to what the first has left", () => {
    expect(chain().text("known-1234567 and 987654")).toBe("[redacted:k1#1] and [redacted:digits]");
    expect(chain().value({ a: ["known-1234567", "x 4242"] })).toEqual({
      a: ["[redacted:k1#1]", "x [redacted:digits]"],
    });
    const once = chain().text("known-1234567 and 987654");
    expect(chain().text(once)).toBe(once);
  });

  it("stream the same text as they scrub at once, one character at a time", () => {
    const text = "x known-1234567 known-12345 6789";
    const stream = chain().stream();
    let out = "";
    for (const character of text) out += stream.push(character);
    expect(out + stream.end()).toBe(chain().text(text));
  });

  it("are the first alone when there is no other", () => {
    const scrubber = createScrubber(registry("known-1234567"));
    expect(chainScrubbers(scrubber)).toBe(scrubber);
  });
});
