import { expect, test } from "vitest";
import { buildCatalog } from "../../../src/catalog/catalog.ts";
import { resolveTool } from "../../../src/catalog/router.ts";

const SERVER = "awslabs-aws-iac-mcp-server";
const SHARED = "validate_cloudformation_template_compliance_and_secu";
const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

test("FR-45 names that are too long for a model API get short, distinct, stable aliases that lead back to them", async () => {
  const names = [SHARED, `${SHARED}_first`, `${SHARED}_second`, "x".repeat(200)];
  const [catalog, again] = await Promise.all(
    [names, [...names].reverse()].map(async (order) => (await buildCatalog(SERVER, order.map(tool))).catalog),
  );
  const aliases = names.map((name) => catalog!.byName(name)!.alias);
  for (const alias of aliases) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(new Set(aliases).size).toBe(names.length);
  expect(names.map((name) => again!.byName(name)!.alias)).toEqual(aliases);

  const server = {
    name: SERVER,
    state: "ready",
    catalog,
    config: { tools: { allow: [], deny: [] }, reconnect: "never" },
  } as const;
  const view = { sources: [{ source: "global", servers: new Map([[SERVER, server]]) }], localTools: new Map() };
  for (const [at, alias] of aliases.entries()) {
    const resolution = resolveTool(alias, view);
    // The server is always called by its own name of the tool.
    expect(resolution.kind === "mcp" && resolution.entry.name).toBe(names[at]);
  }
});

test("FR-45 one tool that cannot be named does not disable the rest", async () => {
  const { catalog, rejected } = await buildCatalog(SERVER, [
    tool("ok"),
    tool("y".repeat(300)),
    tool(""),
    tool("also_ok"),
  ]);
  expect(Array.from(catalog.entries(), ({ name }) => name)).toEqual(["ok", "also_ok"]);
  expect(rejected).toHaveLength(2);
});
