import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { compileSchema } from "../../../src/catalog/json_schema/compile.ts";
import failing from "./json_schema_suite_failing.json" with { type: "json" };

// The public JSON Schema Test Suite, its required part. A row that fails is in the list beside this file with the reason,
// and has to keep failing until it is taken out there.

interface Group {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

const cases = process.env["PORTCULLIS_CASES"];
const folder = cases === undefined ? undefined : join(cases, "json-schema-tests", "tests");
const isThere = folder !== undefined && existsSync(folder);
if (!isThere) console.info("JSON Schema Test Suite left out: PORTCULLIS_CASES names no folder that holds it");

const DIALECTS = [
  { name: "draft2020-12", $schema: "https://json-schema.org/draft/2020-12/schema" },
  { name: "draft7", $schema: "http://json-schema.org/draft-07/schema#" },
];

/** Each row by its name, and whether our verdict is that of the suite. */
function* rowsOf(dialect: string, $schema: string): Generator<readonly [row: string, passes: boolean]> {
  for (const file of readdirSync(join(folder!, dialect)).filter((name) => name.endsWith(".json"))) {
    for (
      const { description, schema, tests } of JSON.parse(readFileSync(join(folder!, dialect, file), "utf8")) as Group[]
    ) {
      const compiled = compileSchema(typeof schema === "object" ? { $schema, ...schema } : schema);
      for (const test of tests) {
        const passes = compiled.usable && compiled.validator.validate(test.data).valid === test.valid;
        yield [`${dialect}/${file}: ${description}: ${test.description}`, passes];
      }
    }
  }
}

describe.skipIf(!isThere)("JSON Schema Test Suite", () => {
  it.each(DIALECTS)("rows of $name pass, but for those that are listed", ({ name, $schema }) => {
    const listed = Object.values(failing).flat().filter((row) => row.startsWith(`${name}/`));
    const rows = [...rowsOf(name, $schema)];
    const failed = rows.filter(([, passes]) => !passes).map(([row]) => row);
    console.info(
      `${name}: ${rows.length - failed.length} of ${rows.length} rows pass, ${listed.length} are listed as failing`,
    );
    expect(rows.length).toBeGreaterThan(900);
    expect(failed.sort()).toEqual(listed.sort());
  });
});
