import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, sha256Text, toHex } from "../../../src/kernel/canonical.ts";
import {
  causeCode,
  HostError,
  isHostError,
  isRemoteError,
  RemoteError,
  unsupported,
} from "../../../src/kernel/errors.ts";
import { matchesGlob } from "../../../src/kernel/glob.ts";
import { countingIds, randomIds } from "../../../src/kernel/ids.ts";
import { nearestWord } from "../../../src/kernel/nearest.ts";
import { isSecretName, SecretRegistry } from "../../../src/kernel/secrets.ts";
import { leastCpuMs } from "../cpu_time.ts";

describe("glob", () => {
  const rows: [pattern: string, text: string, matches: boolean][] = [
    ["", "", true],
    ["", "a", false],
    ["*", "", true],
    ["*", "anything at all", true],
    ["a", "a", true],
    ["a", "A", false],
    ["a*", "a", true],
    ["*a", "ba", true],
    ["*a", "ab", false],
    ["a*c", "abbc", true],
    ["a*c", "abcb", false],
    ["*b*", "abc", true],
    ["**", "x", true],
    ["a**b", "ab", true],
    ["*ab", "aab", true],
    ["*aab*", "aaab", true],
    ["mcp.files.read_*", "mcp.files.read_all", true],
    ["mcp.files.read_*", "mcp.files.write", false],
    ["a.c", "abc", false],
    ["[ab]", "a", false],
    ["a?", "ab", false],
    ["*", "*", true],
    ["a*", "a*b", true],
    ["é*", "é漢", true],
  ];
  test.each(rows)("%j against %j: %s", (pattern, text, matches) => {
    expect(matchesGlob(pattern, text)).toBe(matches);
  });

  test("agrees with a regular expression", () => {
    const unit = fc.constantFrom("a", "b", "*");
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 8 }),
        fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 }),
        (pattern, text) => {
          expect(matchesGlob(pattern, text)).toBe(new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(text));
        },
      ),
    );
  });

  test("costs the product of both lengths at most, however many stars", () => {
    expect(leastCpuMs(3, () => void matchesGlob(`${"*a".repeat(50)}b`, "a".repeat(20_000)))).toBeLessThan(100);
  });
});

describe("canonical JSON", () => {
  const rows: [value: unknown, text: string][] = [
    [{ b: 1, a: [2, { d: null, c: "x" }] }, '{"a":[2,{"c":"x","d":null}],"b":1}'],
    [{ a: undefined, b: 1 }, '{"b":1}'],
    [[undefined], "[null]"],
    [undefined, "null"],
    ["é\n\ud800", '"é\\n\\ud800"'],
    [-0, "0"],
    [1e21, "1e+21"],
    [{ "10": 1, "9": 2, a: 3, "": 4 }, '{"":4,"10":1,"9":2,"a":3}'],
    [JSON.parse('{"__proto__":{"x":1}}'), '{"__proto__":{"x":1}}'],
  ];
  test.each(rows)("of %j", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test("does not depend on the order of keys and gives the value back", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(JSON.parse(text))).toBe(text);
    }));
  });

  test("sha-256 of a text is that of its UTF-8", async () => {
    expect(await sha256Text("")).toBe("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(await sha256Text("é")).toBe("sha256:4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
    expect(toHex(Uint8Array.of(0, 1, 15, 16, 255))).toBe("00010f10ff");
  });
});

describe("ids", () => {
  test("random ones carry 130 bits and do not repeat", () => {
    const ids = new Set(Array.from({ length: 1000 }, () => randomIds.next("evt")));
    expect(ids.size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  test("counting ones are counted by prefix", () => {
    const ids = countingIds();
    expect([ids.next("a"), ids.next("b"), ids.next("a"), ids.next("__proto__")]).toEqual([
      "a_1",
      "b_1",
      "a_2",
      "__proto___1",
    ]);
  });
});

describe("errors", () => {
  test("are told from others, also those of a second copy of the package", () => {
    const error = new HostError("ERR_TIMEOUT", "late", { cause: "c", facts: { ms: 1 } });
    const foreign = Object.assign(new Error("late"), { code: "ERR_TIMEOUT" });
    Object.defineProperty(foreign, Symbol.for("portcullis.HostError"), { value: true });
    for (const each of [error, foreign]) {
      expect([isHostError(each), isHostError(each, "ERR_TIMEOUT"), isHostError(each, "ERR_CLOSED")]).toEqual([
        true,
        true,
        false,
      ]);
      expect(isRemoteError(each)).toBe(false);
    }
    for (const each of [undefined, null, "ERR_TIMEOUT", new Error("x"), { code: "ERR_TIMEOUT" }]) {
      expect(isHostError(each)).toBe(false);
    }
    expect(isRemoteError(new RemoteError(-1, ""))).toBe(true);
    expect(error).toMatchObject({ name: "HostError", cause: "c", facts: { ms: 1 } });
    expect("cause" in new HostError("ERR_CLOSED", "x")).toBe(false);
    expect(unsupported("start a process", "use HTTP")).toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
  });

  const coded = (code: unknown, cause?: unknown): Error => Object.assign(new Error("text", { cause }), { code });
  const loop = new Error("loop");
  loop.cause = loop;
  const rows: [claim: string, value: unknown, code: string][] = [
    ["the system's code", coded("ENOENT"), "ENOENT"],
    ["the code of a cause", new TypeError("fetch failed", { cause: coded("ECONNREFUSED") }), "ECONNREFUSED"],
    ["its own code before that of its cause", coded("ERR_X", coded("ERR_Y")), "ERR_X"],
    ["Bun's code", coded("ConnectionRefused"), "ConnectionRefused"],
    ["a name", new TypeError("quoted input"), "TypeError"],
    ["a remote code", new RemoteError(-32601, "x"), "-32601"],
    ["no number of others", coded(5), "Error"],
    ["no code with spaces", coded("a secret text"), "Error"],
    ["nothing of a text", "secret", "unknown"],
    ["nothing of undefined", undefined, "unknown"],
    ["nothing of an odd name", Object.assign(new Error("x"), { name: "a b" }), "unknown"],
    ["an end of a loop", loop, "unknown"],
  ];
  test.each(rows)("cause code is %s", (_claim, value, code) => {
    expect(causeCode(value)).toBe(code);
  });
});

describe("nearest word", () => {
  const rows: [word: string, candidates: string[], found: string | undefined][] = [
    ["comand", ["command", "args"], "command"],
    ["TimeoutMS", ["timeoutMs"], "timeoutMs"],
    ["url", ["headers", "url"], "url"],
    ["xyzxyz", ["command", "args"], undefined],
    ["", ["a"], "a"],
    ["a".repeat(65), ["a".repeat(65)], undefined],
    ["x", [], undefined],
  ];
  test.each(rows)("of %j among %j is %j", (word, candidates, found) => {
    expect(nearestWord(word, candidates)).toBe(found);
  });
});

describe("secrets", () => {
  test.each([
    "GITHUB_TOKEN",
    "x-api-key",
    "apiKey",
    "APIKEY",
    "AWS_SECRET_ACCESS_KEY",
    "password",
    "db.password",
    "clientSecret",
    "Authorization",
    "cookie",
    "SESSION",
    "tokens",
    "my-pat",
    "private_key",
  ])("%s names one", (name) => {
    expect(isSecretName(name)).toBe(true);
  });
  test.each(["PATH", "monkey", "KEYBOARD", "author", "compass", "tokenizer", "HOME", "passenger", ""])(
    "%s names none",
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  test("registry keeps each long value once, under its first label", () => {
    const registry = new SecretRegistry();
    registry.add("a", "12345678");
    registry.add("b", "12345678");
    registry.add("c", "1234567");
    expect([...registry.values()]).toEqual([{ label: "a", value: "12345678" }]);
    expect([registry.size, registry.version]).toEqual([1, 1]);
  });
});
