import { describe, expect, it } from "vitest";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { listTools } from "../../../src/catalog/listing.ts";
import { aliasTail } from "../../../src/catalog/names.ts";
import { type Resolution, resolveTool } from "../../../src/catalog/router.ts";
import type { RoutedServer, RoutedSource, RouterView } from "../../../src/catalog/router_view.ts";
import { catalogOf, localTools, server, source, view } from "./tools.ts";

/** A resolution in one line: where a call would go, or what it is told. */
function told(name: string, where: RouterView): string {
  const found = resolveTool(name, where);
  switch (found.kind) {
    case "mcp":
      return `${found.source}: ${found.entry.qualified}`;
    case "local":
      return `local: ${found.tool.name}`;
    case "gone":
      return `${found.source}: ${found.reason}`;
    case "wait":
      return `${found.source}: wait for ${found.server.name}`;
    case "ambiguous":
      return `ambiguous: ${found.candidates.join(" ")}`;
    case "not_found":
      return `not found: ${found.suggestions.join(" ")}`;
  }
}

const listed = (where: RouterView): string[] => [...listTools(where)].map(({ qualified }) => qualified);

describe("router and the state of a server", () => {
  type Row = [state: RoutedServer["state"], known: boolean, reconnect: "never" | "lazy", listed: boolean, told: string];
  const runs = "global: mcp.fs.read";
  const waits = "global: wait for fs";
  it.each<Row>([
    ["starting", true, "never", true, runs],
    ["starting", false, "never", false, waits],
    ["ready", true, "never", true, runs],
    ["ready", false, "never", false, "not found: "],
    ["restarting", true, "never", false, runs],
    ["restarting", false, "never", false, waits],
    ["idle_disconnected", true, "never", true, "global: mcp_server_not_connected"],
    ["idle_disconnected", true, "lazy", true, runs],
    ["idle_disconnected", false, "never", false, "global: mcp_server_not_connected"],
    ["idle_disconnected", false, "lazy", false, waits],
    ["not_started", true, "never", true, "global: mcp_server_not_connected"],
    ["not_started", true, "lazy", true, runs],
    ["not_started", false, "never", false, "not found: "],
    ["not_started", false, "lazy", false, "not found: "],
    ["auth_required", true, "lazy", false, "global: auth_required"],
    ["auth_required", false, "never", false, "global: auth_required"],
    ["pending", true, "lazy", false, "global: mcp_server_pending"],
    ["pending", false, "never", false, "global: mcp_server_pending"],
    ["permanently_failed", true, "lazy", false, "global: mcp_server_permanently_failed"],
    ["permanently_failed", false, "never", false, "global: mcp_server_permanently_failed"],
    ["removed", true, "lazy", false, "not found: "],
    ["removed", false, "lazy", false, "not found: "],
    ["disabled", true, "lazy", false, "not found: "],
    ["disabled", false, "lazy", false, "not found: "],
  ])("%s, list known: %s, reconnect: %s", async (state, known, reconnect, isListed, expected) => {
    const catalog = known ? await catalogOf("fs", "read") : undefined;
    const where = view([source("global", server("fs", { state, catalog, reconnect }))]);
    expect(told("mcp.fs.read", where)).toBe(expected);
    expect(told("mcp__fs__read", where)).toBe(expected);
    expect(listed(where)).toEqual(isListed ? ["mcp.fs.read"] : []);
  });

  it.each(["auth_required", "pending", "permanently_failed", "idle_disconnected", "starting"] as const)(
    "%s: a name that is not in the known list does not exist",
    async (state) => {
      const where = view([source("global", server("fs", { state, catalog: await catalogOf("fs", "read") }))]);
      expect(resolveTool("mcp.fs.utterly_different", where).kind).toBe("not_found");
    },
  );

  it("names the entry of a tool that is gone, where its list is known", async () => {
    const parts = { state: "auth_required", catalog: await catalogOf("fs", "read") } as const;
    const found = resolveTool("mcp__fs__read", view([source("global", server("fs", parts))]));
    expect(found.kind === "gone" && [found.state, found.entry?.qualified]).toEqual(["auth_required", "mcp.fs.read"]);
  });
});

describe("router and names", () => {
  it("resolves both spellings exactly, and nothing near them", async () => {
    const where = view([source("global", server("fs", { catalog: await catalogOf("fs", "read_text", "a/b", "a.b") }))]);
    const hashed = `mcp__fs__${await aliasTail("fs", "a/b")}`;
    for (
      const [name, tool] of [["mcp.fs.a/b", "a/b"], [hashed, "a/b"], ["mcp.fs.a.b", "a.b"], [
        "mcp__fs__read_text",
        "read_text",
      ]]
    ) {
      expect(told(name!, where)).toBe(`global: mcp.fs.${tool}`);
    }
    for (
      const name of [
        "mcp__fs__a/b",
        "mcp__fs__a_b",
        "mcp.fs.READ_TEXT",
        "mcp.fs.read_text ",
        "mcp.FS.read_text",
        "MCP.fs.read_text",
      ]
    ) {
      expect(resolveTool(name, where).kind, name).toBe("not_found");
    }
  });

  it("FR-46 survives names of prototypes in every place", async () => {
    const where = view([source("global", server("fs", { catalog: await catalogOf("fs", "read") }))], "list");
    for (const bad of ["__proto__", "constructor", "toString", "valueOf"]) {
      for (
        const name of [bad, `mcp.fs.${bad}`, `mcp__fs__${bad}`, `mcp.${bad}.read`, `local.${bad}`, `local__${bad}`]
      ) {
        expect(resolveTool(name, where).kind, name).toBe("not_found");
      }
    }
    const odd = view([source("global", server("fs", { catalog: await catalogOf("fs", "__proto__") }))], "constructor");
    expect(told("mcp.fs.__proto__", odd)).toBe("global: mcp.fs.__proto__");
    expect(told("constructor", odd)).toBe("local: constructor");
  });

  it("keeps equal tool names of two servers apart (C-TOOL-06)", async () => {
    const where = view([
      source(
        "global",
        server("fs", { catalog: await catalogOf("fs", "read_text") }),
        server("fs-v2", { catalog: await catalogOf("fs-v2", "read_text") }),
      ),
    ]);
    expect(told("mcp.fs.read_text", where)).toBe("global: mcp.fs.read_text");
    expect(told("mcp__fs-v2__read_text", where)).toBe("global: mcp.fs-v2.read_text");
  });

  it("never lets a server's tool pass for another server's or for a local one", async () => {
    const where = view([
      source(
        "global",
        server("fs", { catalog: await catalogOf("fs", "read_file") }),
        server("evil", {
          catalog: await catalogOf(
            "evil",
            "mcp.fs.read_file",
            "mcp__fs__read_file",
            "local.shell",
            "local__shell",
            "fs.read_file",
          ),
        }),
      ),
    ], "shell");
    expect(told("mcp.fs.read_file", where)).toBe("global: mcp.fs.read_file");
    expect(told("mcp__fs__read_file", where)).toBe("global: mcp.fs.read_file");
    expect(told("local.shell", where)).toBe("local: shell");
    expect(told("local__shell", where)).toBe("local: shell");
    expect(told("shell", where)).toBe("local: shell");
    expect(told("mcp.evil.mcp.fs.read_file", where)).toBe("global: mcp.evil.mcp.fs.read_file");
  });
});

describe("router and bare names", () => {
  const shared = async (state: RoutedServer["state"] = "ready"): Promise<RouterView> =>
    view(
      [source("global", server("fs", { state, catalog: await catalogOf("fs", "read_file", "stat") }))],
      "read_file",
      "shell",
    );

  it("refuses one that a local tool and an MCP tool share, and takes both exact spellings", async () => {
    const where = await shared();
    expect(told("read_file", where)).toBe("ambiguous: local.read_file mcp.fs.read_file");
    expect(told("local.read_file", where)).toBe("local: read_file");
    expect(told("local__read_file", where)).toBe("local: read_file");
    expect(told("mcp.fs.read_file", where)).toBe("global: mcp.fs.read_file");
  });

  it.each(["restarting", "permanently_failed", "idle_disconnected", "auth_required"] as const)(
    "does not change what one means because a server is %s",
    async (state) => {
      expect(told("read_file", await shared(state))).toMatch(/^ambiguous/);
    },
  );

  it.each(["removed", "disabled"] as const)("forgets the tools of a server that is %s", async (state) => {
    expect(told("read_file", await shared(state))).toBe("local: read_file");
  });

  it("gives one that only local tools have to the local tool", async () => {
    expect(told("shell", await shared())).toBe("local: shell");
  });

  it("never calls an MCP tool by one, and suggests its full name", async () => {
    expect(told("stat", await shared())).toBe("not found: mcp.fs.stat");
  });

  it("names every tool that has it, in the order of the sources, at most five", async () => {
    const servers = await Promise.all(
      ["a", "b", "c", "d", "e", "f"].map(async (name) => server(name, { catalog: await catalogOf(name, "send") })),
    );
    const where = view([source("global", ...servers.slice(0, 3)), source("private", ...servers.slice(2))]);
    expect(told("send", where)).toBe("not found: mcp.a.send mcp.b.send mcp.c.send mcp.d.send mcp.e.send");
  });

  it("names at most ten candidates", async () => {
    const servers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => server(`s${at}`, { catalog: await catalogOf(`s${at}`, "send") })),
    );
    const found = resolveTool("send", view([source("global", ...servers)], "send"));
    expect(found.kind === "ambiguous" && found.candidates.length).toBe(10);
  });

  it("sees a change at once, with a version that rises and without one", async () => {
    const catalog = await catalogOf("fs", "read_file");
    for (const versioned of [true, false]) {
      const servers = new Map<string, RoutedServer>();
      let version = 1;
      const live: RoutedSource = versioned
        ? {
          source: "global",
          servers,
          get version(): number {
            return version;
          },
        }
        : { source: "global", servers };
      const where = view([live], "read_file");
      expect(told("read_file", where)).toBe("local: read_file");
      servers.set("fs", server("fs", { catalog }));
      version++;
      expect(told("read_file", where)).toMatch(/^ambiguous/);
      servers.delete("fs");
      version++;
      expect(told("read_file", where)).toBe("local: read_file");
    }
  });

  it("keeps answers for other local tools apart under one version", async () => {
    const fs = server("fs", { catalog: await catalogOf("fs", "a", "b") });
    const live: RoutedSource = { ...source("global", fs), version: 1 };
    const told1 = told("a", { sources: [live], localTools: localTools("a") });
    const told2 = told("b", { sources: [live], localTools: localTools("b") });
    expect([told1, told2]).toEqual(["ambiguous: local.a mcp.fs.a", "ambiguous: local.b mcp.fs.b"]);
  });
});

describe("router and sources", () => {
  const two = async (parts: Partial<Parameters<typeof server>[1]>): Promise<RouterView> =>
    view([
      source("global", server("fs", { catalog: await catalogOf("fs", "read", "write") })),
      source("private", server("fs", { catalog: await catalogOf("fs", "read"), ...parts })),
    ]);

  it("lets the later source win for a full name, tool by tool", async () => {
    const where = await two({});
    expect(told("mcp.fs.read", where)).toBe("private: mcp.fs.read");
    expect(told("mcp__fs__read", where)).toBe("private: mcp.fs.read");
    expect(told("mcp.fs.write", where)).toBe("global: mcp.fs.write");
    expect([...listTools(where)].map((tool) => tool.kind === "mcp" && `${tool.source}: ${tool.qualified}`)).toEqual([
      "global: mcp.fs.write",
      "private: mcp.fs.read",
    ]);
  });

  it("follows sources as they are: what a removed server hid reappears", async () => {
    const mine = new Map<string, RoutedServer>();
    const where = view([
      source("global", server("fs", { catalog: await catalogOf("fs", "read") })),
      { source: "private", servers: mine },
    ]);
    mine.set("fs", server("fs", { catalog: await catalogOf("fs", "read") }));
    expect(told("mcp.fs.read", where)).toBe("private: mcp.fs.read");
    mine.delete("fs");
    expect(told("mcp.fs.read", where)).toBe("global: mcp.fs.read");
    expect(listed(where)).toEqual(["mcp.fs.read"]);
  });

  it.each<[RoutedServer["state"], string, readonly string[]]>([
    ["restarting", "private: mcp.fs.read", ["mcp.fs.write"]],
    ["permanently_failed", "private: mcp_server_permanently_failed", ["mcp.fs.write"]],
    ["auth_required", "private: auth_required", ["mcp.fs.write"]],
    ["disabled", "global: mcp.fs.read", ["mcp.fs.read", "mcp.fs.write"]],
    ["removed", "global: mcp.fs.read", ["mcp.fs.read", "mcp.fs.write"]],
  ])(
    "a hidden tool takes no call because the server that hides it is %s, unless that is gone for good",
    async (state, expected, list) => {
      const where = await two({ state });
      expect(told("mcp.fs.read", where)).toBe(expected);
      expect(listed(where)).toEqual(list);
    },
  );

  it.each<[RoutedServer["state"], string]>([
    ["starting", "private: wait for fs"],
    ["restarting", "private: wait for fs"],
    ["pending", "global: mcp.fs.read"],
    ["auth_required", "global: mcp.fs.read"],
    ["permanently_failed", "global: mcp.fs.read"],
    ["not_started", "global: mcp.fs.read"],
  ])("a server without a list hides nothing unless it may have the tool in a moment: %s", async (state, expected) => {
    expect(told("mcp.fs.read", await two({ state, catalog: undefined }))).toBe(expected);
  });

  it("says why a later server is gone when no earlier one has the tool", async () => {
    expect(told("mcp.fs.grep", await two({ state: "pending", catalog: undefined }))).toBe(
      "private: mcp_server_pending",
    );
  });
});

describe("router and filters", () => {
  it("treats what the user filters out as not offered, in every spelling", async () => {
    const catalog = await catalogOf("fs", "read_text", "read_bytes", "delete_all");
    const where = view(
      [source("global", server("fs", { catalog, allow: ["read_*"], deny: ["*_bytes"] }))],
      "delete_all",
    );
    expect(listed(where)).toEqual(["delete_all", "mcp.fs.read_text"]);
    expect(resolveTool("mcp.fs.delete_all", where).kind).toBe("not_found");
    expect(resolveTool("mcp__fs__read_bytes", where).kind).toBe("not_found");
    expect(told("delete_all", where)).toBe("local: delete_all");
  });

  it("matches the server's own name of a tool, also where the alias has a hash", async () => {
    const catalog = await catalogOf("fs", "a/b");
    const where = view([source("global", server("fs", { catalog, deny: ["a/*"] }))]);
    expect(resolveTool(`mcp__fs__${await aliasTail("fs", "a/b")}`, where).kind).toBe("not_found");
  });

  it("hides tools from a view, also from calls, bare names and suggestions", async () => {
    const hidden = new Set(["mcp.fs.read", "local.shell"]);
    const where: RouterView = {
      ...view([source("global", server("fs", { catalog: await catalogOf("fs", "read", "stat") }))], "shell", "read"),
      isVisible: (name) => !hidden.has(name),
    };
    expect(listed(where)).toEqual(["read", "mcp.fs.stat"]);
    expect(told("read", where)).toBe("local: read");
    for (const name of ["mcp.fs.read", "mcp__fs__read", "local.shell", "shell"]) {
      const found = resolveTool(name, where);
      expect(found.kind === "not_found" && found.suggestions.filter((each) => hidden.has(each)), name).toEqual([]);
    }
  });
});

describe("suggestions", () => {
  const where = async (): Promise<RouterView> =>
    view([
      source(
        "global",
        server("fs", { catalog: await catalogOf("fs", "read_text", "write_text", "list_dir") }),
        server("jira", { catalog: await catalogOf("jira", "get_issue", "search") }),
      ),
    ], "read_file");

  it.each([
    ["mcp.fs.read_txt", "mcp.fs.read_text"],
    ["mcp__fs__Read_Text", "mcp.fs.read_text mcp.fs.write_text"],
    ["mcp.filesystem.read_text", "mcp.fs.read_text"],
    ["mcp.jria.get_issue", "mcp.jira.get_issue"],
    ["get_isue", "mcp.jira.get_issue"],
    ["jira/get_issue", "mcp.jira.get_issue"],
    ["jria.get_issue", "mcp.jira.get_issue"],
    ["mcp/jira/get_issue", "mcp.jira.get_issue"],
    ["jira:utterly_different_from_all", ""],
    ["read_files", "local.read_file"],
    ["local.readfile", "local.read_file"],
    ["mcp.fs.utterly_different_from_all", ""],
    ["", ""],
    ["x".repeat(10_000), ""],
  ])("for %j", async (name, expected) => {
    expect(told(name, await where())).toBe(`not found: ${expected}`);
  });

  it("are the same every time and at most five", async () => {
    const tools = Array.from({ length: 50 }, (_, at) => `tool_${String(at).padStart(2, "0")}`);
    const many = view([source("global", server("s", { catalog: await catalogOf("s", ...tools) }))]);
    const names = ["mcp.s.tool_00", "mcp.s.tool_01", "mcp.s.tool_02", "mcp.s.tool_03", "mcp.s.tool_04"];
    for (let run = 0; run < 3; run++) expect(told("mcp.s.tool_0x", many)).toBe(`not found: ${names.join(" ")}`);
  });
});

describe("router and size", () => {
  /** A catalog that counts how often it is looked into. */
  function counting(catalog: Catalog, count: () => void): Catalog {
    return {
      server: catalog.server,
      size: catalog.size,
      entries: () => (count(), catalog.entries()),
      byName: (name) => (count(), catalog.byName(name)),
      byAliasTail: (tail) => (count(), catalog.byAliasTail(tail)),
      fingerprint: (name) => catalog.fingerprint(name),
    };
  }

  it.each([1, 100, 1000])("looks into a handful of catalogs among %i servers", async (count) => {
    let looks = 0;
    const one = await catalogOf("s", "read", "stat");
    const servers = Array.from(
      { length: count },
      (_, at) => server(`s${at}`, { catalog: counting(one, () => looks++) }),
    );
    const where: RouterView = {
      sources: [{ ...source("global", ...servers), version: 1 }],
      localTools: localTools("shell"),
    };
    resolveTool("shell", where);
    looks = 0;
    const found: Resolution[] = ["mcp.s0.read", "mcp__s0__stat", "shell", "local.shell"].map((name) =>
      resolveTool(name, where)
    );
    expect(found.map(({ kind }) => kind)).toEqual(["mcp", "mcp", "local", "local"]);
    expect(looks).toBeLessThanOrEqual(4);
  });
});
