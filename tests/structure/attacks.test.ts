import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { ATTACK, attacksOf, claimsOf } from "./requirements.ts";
import { readTree, root } from "./source_text.ts";

/** What a server says and how it says it: every row about one of these is shown by a test. */
const ALWAYS_SHOWN: ReadonlySet<string> = new Set([
  "stdio",
  "JSON-RPC",
  "transport",
  "discovery",
  "JSON",
  "schema",
  "results",
  "headers",
  "HTTP",
  "SSE",
  "icons",
  "MRTR",
]);

/**
 * Rows of other kinds that no test shows yet. The list may only get shorter: whoever names one of them in the title of a
 * test takes it out here, and may lower the number.
 */
const open = JSON.parse(readFileSync(join(root, "tests/structure/attacks_open.json"), "utf8")) as string[];
const MOST_OPEN = 20;

const shown = new Set(
  readTree(["tests"], [".ts"])
    .filter(({ path }) => !path.startsWith("tests/structure/"))
    .flatMap((file) => [...claimsOf(file, ATTACK).keys()]),
);

const cases = process.env["PORTCULLIS_CASES"];
if (cases === undefined) console.log("skipped: the table of attacks is not here; PORTCULLIS_CASES names its folder");

describe("attacks", () => {
  it.skipIf(cases === undefined)("attacks of the table are shown by a test or listed as open", () => {
    const attacks = attacksOf(readFileSync(join(cases!, "security", "attacks.md"), "utf8"));
    const ids = attacks.map(({ id }) => id);
    const missing = attacks.filter(({ id }) => !shown.has(id));
    const named = `${attacks.length - missing.length} of ${attacks.length} attacks are named by tests`;
    console.log(`${named}; open: ${missing.map(({ id, where }) => `${id} (${where})`).join(", ")}`);
    expect(attacks.length).toBeGreaterThan(50);
    expect(missing.map(({ id }) => id).filter((id) => !open.includes(id)), "neither shown nor open").toEqual([]);
    expect([...shown, ...open].filter((id) => !ids.includes(id)), "not in the table").toEqual([]);
    const owed = attacks.filter(({ id, where }) => open.includes(id) && ALWAYS_SHOWN.has(where));
    expect(owed, "what a server says is never left open").toEqual([]);
  });

  it("attacks that a test shows are not listed as open", () => {
    expect(open.filter((id) => shown.has(id)), "take these out of tests/structure/attacks_open.json").toEqual([]);
  });

  it("list of open attacks does not grow", () => {
    expect(new Set(open).size).toBe(open.length);
    expect(open.length).toBeLessThanOrEqual(MOST_OPEN);
  });
});

describe("reader of attacks", () => {
  it("reader takes the rows of the table, and no other mention", () => {
    const text = "Name it `A-12 endless line`.\n| id | where | attack |\n| A-01 | config | one, unlike A-02 |\n";
    expect(attacksOf(text)).toEqual([{ id: "A-01", where: "config" }]);
  });

  it("reader takes ids from titles and not from comments", () => {
    const text = '// A-01\ntest("FR-04 endless (A-12, A-14)", () => {});\nconst word = "DATA-33";\n';
    expect([...claimsOf({ path: "tests/planted.ts", text }, ATTACK).keys()]).toEqual(["A-12", "A-14"]);
  });
});
