import { SecretRegistry } from "../../src/kernel/secrets.ts";
import type { Scrubber } from "../../src/scrub/scrubber.ts";
import { assert, assertEquals, type ContractCase } from "./contract.ts";

/** Values are put together here so that no secret stands in a source file. */
const secret = (n: number): string => ["hush", String(n), "quiet".repeat(2), String(n * 7)].join("-");

/** What every {@link Scrubber} promises that knows the values of a registry. */
export function scrubberCases(name: string, make: (secrets: SecretRegistry) => Scrubber): ContractCase[] {
  const given = (claim: string, run: (scrubber: Scrubber, secrets: SecretRegistry) => void): ContractCase => ({
    name: `${name} ${claim}`,
    run: () => {
      const secrets = new SecretRegistry();
      for (let n = 1; n <= 5; n++) secrets.add(`env.SECRET_${n}`, secret(n));
      run(make(secrets), secrets);
    },
  });
  const sample = `a ${secret(1)} b${secret(2)}${secret(1)}c "${secret(3)}"\n${secret(1).slice(0, -1)}!`;
  const isClean = (text: string): boolean => [1, 2, 3, 4, 5].every((n) => !text.includes(secret(n)));

  return [
    given("takes known values out and leaves the rest", (scrubber) => {
      const text = scrubber.text(sample);
      assert(isClean(text), `a secret is left in: ${text}`);
      assert(text.startsWith("a ") && text.endsWith(`${secret(1).slice(0, -1)}!`), `other text changed: ${text}`);
      assertEquals(scrubber.text("nothing of interest"), "nothing of interest");
      assertEquals(scrubber.text(""), "");
    }),
    given("gives equal secrets equal markers and different ones different markers", (scrubber) => {
      const [a, b, c] = scrubber.text(`${secret(4)} ${secret(5)} ${secret(4)}`).split(" ");
      assertEquals(a, c);
      assert(a !== b, "two secrets have one marker");
      assertEquals(scrubber.text(secret(4)), a);
    }),
    given("changes nothing the second time", (scrubber) => {
      const once = scrubber.text(sample);
      assertEquals(scrubber.text(once), once);
    }),
    given("scrubs values and keys at any depth, and never its input", (scrubber) => {
      const value = { list: [1, null, { [secret(1)]: `x${secret(2)}` }], plain: "text" };
      const before = JSON.stringify(value);
      const scrubbed = JSON.stringify(scrubber.value(value));
      assert(isClean(scrubbed), `a secret is left in: ${scrubbed}`);
      assertEquals(JSON.stringify(value), before);
      assertEquals(JSON.stringify(scrubber.value(scrubber.value(value))), scrubbed);
    }),
    given("gives back the very same value when it holds no secret", (scrubber) => {
      const clean = { a: ["b", { c: 1, d: null, e: true }] };
      assert(scrubber.value(clean) === clean, "a clean value was copied");
      const mixed = { clean, dirty: secret(1) };
      assert(scrubber.value(mixed).clean === clean, "a clean part was copied");
      for (const scalar of [null, 1, true, "text", undefined]) assertEquals(scrubber.value(scalar), scalar);
    }),
    given("survives prototype keys without touching a prototype", (scrubber) => {
      const hostile = JSON.parse(`{"__proto__":{"polluted":1},"constructor":{"prototype":{"p":1}},"s":"${secret(1)}"}`);
      const scrubbed = scrubber.value(hostile) as Record<string, unknown>;
      assertEquals(({} as Record<string, unknown>)["polluted"], undefined);
      assertEquals(scrubbed["polluted"], undefined);
      assert(isClean(JSON.stringify(scrubbed)), "a secret is left");
      assert(isClean(JSON.stringify(scrubber.value(JSON.parse(`{"__proto__":"${secret(1)}"}`)))), "a secret is left");
    }),
    given("survives a value that is very deep", (scrubber) => {
      let deep: unknown = secret(1);
      for (let n = 0; n < 5_000; n++) deep = n % 2 === 0 ? [deep] : { deep };
      assert(isClean(JSON.stringify(scrubber.value(deep))), "a secret is left");
    }),
    given("finds a secret cut at any place of a stream", (scrubber) => {
      const whole = scrubber.text(sample);
      for (let cut = 0; cut <= sample.length; cut++) {
        const stream = scrubber.stream();
        const parts = [stream.push(sample.slice(0, cut)), stream.push(sample.slice(cut)), stream.end()];
        assertEquals(parts.join(""), whole, `cut at ${cut}`);
        assert(parts.every(isClean), `a secret is left with a cut at ${cut}`);
      }
    }),
    given("finds secrets that arrive one character at a time", (scrubber) => {
      const stream = scrubber.stream();
      let text = "";
      for (const character of sample) {
        text += stream.push(character);
        assert(isClean(text), `a secret got out: ${text}`);
      }
      assertEquals(text + stream.end(), scrubber.text(sample));
    }),
    given("keeps streams apart", (scrubber) => {
      const [a, b] = [scrubber.stream(), scrubber.stream()];
      const half = secret(1).length >> 1;
      let text = a.push(secret(1).slice(0, half)) + b.push("between");
      text += a.push(secret(1).slice(half)) + a.end() + b.end();
      assert(isClean(text) && text.includes("between"), `mixed up: ${text}`);
    }),
    given("knows a secret that is registered later", (scrubber, secrets) => {
      const late = ["late", "arrival", "77"].join(":");
      assertEquals(scrubber.text(late), late);
      secrets.add("token", late);
      assert(!scrubber.text(`x${late}`).includes(late), "the late secret is left");
    }),
    given("is linear in the input", (scrubber) => {
      // Quadratic work on this much text would take minutes.
      for (const piece of [secret(1).slice(0, -1), secret(1), "[redacted:", "[", "a"]) {
        const text = piece.repeat(Math.ceil(400_000 / piece.length));
        const stream = scrubber.stream();
        for (let at = 0; at < text.length; at += 1_000) stream.push(text.slice(at, at + 1_000));
        stream.end();
        scrubber.text(text);
      }
    }),
  ];
}
