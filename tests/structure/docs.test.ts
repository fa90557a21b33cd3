import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile } from "./compile.ts";
import { asModules, readExamples } from "./doc_examples.ts";
import type { DenoManifest } from "./manifests.ts";
import { readProduct, readTree, root } from "./source_text.ts";

const deno = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as DenoManifest;
const paths = Object.fromEntries(
  Object.entries(deno.exports).map(([key, file]) => [`portcullis${key.slice(1)}`, [file]]),
);
const pages = readTree(["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"], [".md"]);
const examples = [...pages, ...readProduct()].flatMap(readExamples);

/** Compiles examples as a user of the package would and returns the complaints with the places in the docs. */
function complaints(shown: typeof examples): string[] {
  return compile("tsconfig.json", asModules(shown), { paths }).map((complaint) =>
    complaint.replace(/^doc_example_(\d+)\.ts/, (_all, index) => shown[Number(index)]!.place)
  );
}

describe("docs", () => {
  it("examples in pages and docstrings compile against the entries they import", () => {
    expect(examples.length).toBeGreaterThan(5);
    expect(complaints(examples)).toEqual([]);
  }, 120_000);

  it("compiler refuses an example that uses what no entry exports", () => {
    const text = `import { somethingElse } from "portcullis/client";\nsomethingElse();`;
    expect(complaints([{ place: "planted.md:1", text }])).toEqual([
      expect.stringMatching(/^planted\.md:1:1 .*somethingElse/),
    ]);
  }, 120_000);

  it("README shows examples/minimal.ts as a user would write it", () => {
    const source = readFileSync(join(root, "examples", "minimal.ts"), "utf8");
    const shown = Object.entries(deno.exports).reduce(
      (text, [key, file]) => text.replaceAll(`"../${file.slice(2)}"`, `"portcullis${key.slice(1)}"`),
      source,
    );
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain(shown.trim());
  });

  it("pages link to files that exist", () => {
    const broken = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map((match) => `${path}: ${match[1]!}`)
        .filter((link) => !existsSync(join(root, link.split(": ")[1]!)))
    );
    expect(broken).toEqual([]);
  });

  it("pages name files and folders that exist", () => {
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/`((?:src|runtimes|tests|examples|bench|\.ci)\/[\w./]+)`/g)].map((match) =>
        [path, match[1]!] as const
      )
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(([, name]) => !existsSync(join(root, name)))).toEqual([]);
  });
});

describe("reader of examples", () => {
  it("reader takes fences of docstrings without their stars, and of pages as they are", () => {
    const docstring = "/**\n * Text.\n *\n * ```ts\n * const a = 1;\n *\n * use(a);\n * ```\n */\nconst b = 2;";
    expect(readExamples({ path: "src/a.ts", text: docstring })).toEqual([{
      place: "src/a.ts:4",
      text: "const a = 1;\n\nuse(a);",
    }]);
    const page = "# A\n```ts\nconst a = 1;\n```\n```sh\nls\n```\n";
    expect(readExamples({ path: "A.md", text: page })).toEqual([{ place: "A.md:2", text: "const a = 1;" }]);
  });
});
