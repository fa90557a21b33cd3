import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkImports, importTable, optionalParts, printTable, rowOf } from "./import_table.ts";
import { collectImports, COMPUTED, findCycles } from "./imports.ts";
import { format, readProduct, root, type SourceText } from "./source_text.ts";

const product = readProduct();

/** Checks one planted file among others that are empty. */
function plant(path: string, text: string, ...others: string[]): string[] {
  const files: SourceText[] = [{ path, text }, ...others.map((other) => ({ path: other, text: "" }))];
  return checkImports(files).map(({ message }) => message);
}

describe("imports", () => {
  it("product has its entry, core and adapters", () => {
    const places = [
      "mod.ts",
      "src/kernel/",
      "src/client/",
      "runtimes/node/",
      "runtimes/bun/",
      "runtimes/deno/",
      "runtimes/workerd/",
    ];
    expect(places.filter((place) => !product.some(({ path }) => path.startsWith(place)))).toEqual([]);
  });

  it("product follows the import table", () => {
    expect(format(checkImports(product))).toEqual([]);
  });

  it("product has no cycles", () => {
    expect(findCycles(product).map((cycle) => cycle.join(" -> "))).toEqual([]);
  });

  it("collector tells values from types", () => {
    const text = `
      import { a } from "./a.ts";
      import type { B } from "./b.ts";
      import { type C } from "./c.ts";
      import "./d.ts";
      export { e } from "./e.ts";
      export type { F } from "./f.ts";
      export * from "./g.ts";
      const h = await import("./h.ts");
      const i = await import(h.name);
      type J = import("./j.ts").J;
      const k = require("./k.ts");
      // import "./comment.ts";
      const l = 'import "./string.ts"';
    `;
    const edges = collectImports({ path: "src/x/x.ts", text }).map((edge) => [edge.specifier, edge.typesOnly]);
    expect(edges).toEqual([
      ["./a.ts", false],
      ["./b.ts", true],
      ["./c.ts", false],
      ["./d.ts", false],
      ["./e.ts", false],
      ["./f.ts", true],
      ["./g.ts", false],
      ["./h.ts", false],
      [COMPUTED, false],
      ["./j.ts", true],
      ["./k.ts", false],
    ]);
  });

  it("checker refuses an import that points up the layers", () => {
    expect(plant("src/kernel/a.ts", `import { b } from "../client/b.ts";`, "src/client/b.ts")).toEqual([
      'kernel/a may not import "../client/b.ts"',
    ]);
  });

  it("checker lets a types-only neighbour give types and nothing else", () => {
    const types = `import type { T } from "../transport/t.ts";`;
    const values = `import { t } from "../transport/t.ts";`;
    expect(plant("src/client/a.ts", types, "src/transport/t.ts")).toEqual([]);
    expect(plant("src/client/a.ts", values, "src/transport/t.ts")).toEqual([
      'client/a may not import "../transport/t.ts" except for its types',
    ]);
    expect(plant("src/client/mod.ts", values, "src/transport/t.ts")).toEqual([]);
  });

  it("checker opens one file of a folder where the table names one", () => {
    const text = `import { m } from "../protocol/m.ts"; import { model } from "../protocol/model.ts";`;
    expect(plant("src/catalog/a.ts", text, "src/protocol/m.ts", "src/protocol/model.ts")).toEqual([
      'catalog/a may not import "../protocol/m.ts"',
    ]);
  });

  it.each([
    ["src/host.ts", "./protocol/serve_modern.ts", "src/protocol/serve_modern.ts"],
    ["src/host.ts", "./auth/oauth/flow.ts", "src/auth/oauth/flow.ts"],
    ["src/protocol/era.ts", "./serve_legacy.ts", "src/protocol/serve_legacy.ts"],
    ["src/catalog/catalog.ts", "./zod.ts", "src/catalog/zod.ts"],
    ["mod.ts", "./src/catalog/zod.ts", "src/catalog/zod.ts"],
  ])("checker keeps an optional part out of %s", (from, specifier, target) => {
    expect(plant(from, `import { x } from "${specifier}";`, target)).toHaveLength(1);
  });

  it("checker opens an optional part to whom the table names, and to itself", () => {
    const gateway = `import { s } from "../protocol/serve_modern.ts";`;
    expect(plant("src/app/gateway.ts", gateway, "src/protocol/serve_modern.ts")).toEqual([]);
    expect(
      plant("src/protocol/serve_legacy.ts", `import { s } from "./serve_modern.ts";`, "src/protocol/serve_modern.ts"),
    ).toEqual([]);
    expect(plant("src/cli/login.ts", `import { o } from "../auth/oauth/o.ts";`, "src/auth/oauth/o.ts")).toEqual([]);
  });

  it.each([
    ["src/kernel/a.ts", "valibot"],
    ["src/client/a.ts", "hono"],
    ["src/catalog/catalog.ts", "zod"],
    ["src/host.ts", "commander"],
    ["src/store/a.ts", "node:fs"],
    ["runtimes/workerd/a.ts", "node:fs"],
    ["src/cli/a.ts", "chalk"],
  ])("checker keeps a package out: %s, %s", (path, name) => {
    expect(plant(path, `import * as x from "${name}";`)).toEqual([expect.stringContaining(`may not import "${name}"`)]);
  });

  it.each([
    ["src/events/a.ts", "valibot"],
    ["src/app/a.ts", "hono/streaming"],
    ["src/catalog/zod.ts", "zod"],
    ["src/config/a.ts", "jsonc-parser"],
    ["src/cli/a.ts", "@clack/prompts"],
    ["runtimes/node/a.ts", "node:fs/promises"],
  ])("checker lets a package in where it belongs: %s, %s", (path, name) => {
    expect(plant(path, `import * as x from "${name}";`)).toEqual([]);
  });

  it("checker refuses unknown folders, missing files, computed names and imports without an ending", () => {
    expect(plant("src/helpers/a.ts", "")).toEqual(["helpers/a has no row in the import table"]);
    expect(plant("runtimes/browser/mod.ts", "")).toEqual(["runtimes/browser/mod has no row in the import table"]);
    expect(plant("src/kernel/a.ts", `import "./gone.ts"; import "./b"; import(name);`)).toEqual([
      '"./gone.ts" is no source file',
      '"./b" does not end in .ts',
      "imports a computed name",
    ]);
  });

  it("checker keeps adapters apart and out of the core", () => {
    expect(plant("runtimes/node/a.ts", `import { b } from "../bun/b.ts";`, "runtimes/bun/b.ts")).toHaveLength(1);
    expect(plant("runtimes/bun/b.ts", `import { a } from "../node/a.ts";`, "runtimes/node/a.ts")).toEqual([]);
    expect(plant("runtimes/node/a.ts", `import { c } from "../../src/kernel/clock.ts";`, "src/kernel/clock.ts"))
      .toHaveLength(1);
    expect(plant("runtimes/node/a.ts", `import { e } from "../../src/kernel/errors.ts";`, "src/kernel/errors.ts"))
      .toEqual([]);
    expect(plant("runtimes/node/cli.ts", `import { m } from "../../src/cli/main.ts";`, "src/cli/main.ts")).toEqual([]);
    expect(plant("src/kernel/a.ts", `import { a } from "../../runtimes/node/a.ts";`, "runtimes/node/a.ts"))
      .toHaveLength(1);
  });

  it("cycle finder finds a ring, also one made of types", () => {
    const file = (name: string, next: string): SourceText => ({
      path: `src/a/${name}.ts`,
      text: `import type { X } from "./${next}.ts";`,
    });
    expect(findCycles([file("a", "b"), file("b", "c"), file("c", "a")])).toEqual([
      ["src/a/a.ts", "src/a/b.ts", "src/a/c.ts", "src/a/a.ts"],
    ]);
    expect(findCycles([file("a", "b"), file("b", "c"), file("c", "d")])).toEqual([]);
  });

  it("table is itself free of cycles and names no unit without a row", () => {
    const files = importTable.filter(({ unit }) => !unit.includes("*")).map(({ unit, may }) => ({
      path: `${unit.replaceAll("/", "_")}.ts`,
      text: may.map((word) => rowOf(word.replace("(types)", "").replace("*", "x"))?.unit ?? "no_row")
        .filter((other) => other !== unit)
        .map((other) => `import "./${other.replaceAll("/", "_")}.ts";`).join("\n"),
    }));
    expect(findCycles(files)).toEqual([]);
    expect(files.filter(({ text }) => text.includes("no_row"))).toEqual([]);
    expect(optionalParts.filter((part) => rowOf(part.replace("*", "x")) === undefined)).toEqual([]);
  });

  it("CONTRIBUTING.md repeats the table", () => {
    expect(readFileSync(join(root, "CONTRIBUTING.md"), "utf8")).toContain(printTable().join("\n"));
  });
});
