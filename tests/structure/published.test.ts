import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./source_text.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const node = JSON.parse(read("package.json")) as { readonly files: readonly string[] };
const deno = JSON.parse(read("deno.json")) as { readonly publish: { readonly include: readonly string[] } };

/** What each registry is given beside the code. npm takes these two without being told. */
const lists: readonly (readonly [string, readonly string[]])[] = [
  ["npm", ["README.md", "LICENSE", ...node.files]],
  ["JSR", deno.publish.include],
];

/** Files that the pages of a list link to and that the list does not hold. */
function dangling(list: readonly string[], text: (page: string) => string): string[] {
  return list.filter((name) => name.endsWith(".md")).flatMap((page) =>
    [...text(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link!)
      .filter((link) => !list.includes(link))
      .map((link) => `${page}: ${link}`)
  );
}

describe("published packages", () => {
  it.each(lists)("%s gets the pages that every package should have, and all that is listed exists", (_name, list) => {
    expect(list).toEqual(expect.arrayContaining(["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"]));
    // What is built is there only after a build.
    expect(list.filter((path) => path !== "dist" && !existsSync(join(root, path)))).toEqual([]);
  });

  it.each(lists)("%s gets every page that another one links to", (_name, list) => {
    expect(dangling(list, read)).toEqual([]);
  });

  it("rule bites on a link to a page that is left out", () => {
    const text = (): string => "See [this](B.md), [that](https://example.com/C.md) and [here](#place).";
    expect(dangling(["A.md"], text)).toEqual(["A.md: B.md"]);
    expect(dangling(["A.md", "B.md"], text)).toEqual([]);
  });
});
