import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { claimsOf, dutiesOf } from "./requirements.ts";
import { readTree, root } from "./source_text.ts";

/**
 * Duties of the checklist that no test shows yet. The list may only get shorter: whoever names one of them in the title
 * of a test takes it out here, and may lower the number.
 */
const open = JSON.parse(readFileSync(join(root, "tests/structure/requirements_open.json"), "utf8")) as string[];
const MOST_OPEN = 10;

const shown = new Set(
  readTree(["tests"], [".ts"])
    .filter(({ path }) => !path.startsWith("tests/structure/requirements"))
    .flatMap((file) => [...claimsOf(file).keys()]),
);

const cases = process.env["PORTCULLIS_CASES"];
if (cases === undefined) console.log("skipped: the checklist of duties is not here; PORTCULLIS_CASES names its folder");

describe("duties of a client", () => {
  it.skipIf(cases === undefined)("duties of the checklist are shown by a test or listed as open", () => {
    const duties = dutiesOf(readFileSync(join(cases!, "protocol", "mcp-wire.md"), "utf8"));
    console.log(
      `${duties.length - open.length} of ${duties.length} duties are named by tests; open: ${open.join(" ")}`,
    );
    expect(duties.length).toBeGreaterThan(200);
    expect(duties.filter((id) => !shown.has(id) && !open.includes(id)), "neither shown nor open").toEqual([]);
    expect([...shown, ...open].filter((id) => !duties.includes(id)), "not in the checklist").toEqual([]);
  });

  it("duties that a test shows are not listed as open", () => {
    expect(open.filter((id) => shown.has(id)), "take these out of tests/structure/requirements_open.json").toEqual([]);
  });

  it("list of open duties does not grow", () => {
    expect(new Set(open).size).toBe(open.length);
    expect(open.length).toBeLessThanOrEqual(MOST_OPEN);
  });
});

describe("reader of duties", () => {
  it("reader takes ids from titles, also of tables and templates, and not from comments", () => {
    const text = [
      "// C-ONE-01",
      'test("a b: C-TWO-02, C-TWO-03", () => {});',
      'const rows = [["x (C-THREE-04)", 1]];',
      "test(`${x} y: C-FOUR-05`, () => {});",
    ].join("\n");
    expect([...claimsOf({ path: "tests/planted.ts", text }).keys()]).toEqual([
      "C-TWO-02",
      "C-TWO-03",
      "C-THREE-04",
      "C-FOUR-05",
    ]);
  });

  it("reader takes the lines of the checklist, and no other mention", () => {
    const text = "see C-RPC-09\n- C-RPC-01 all M Text about C-RPC-02.\n- S-RPC-01 all M Server.\n";
    expect(dutiesOf(text)).toEqual(["C-RPC-01"]);
  });
});
