import { describe, expect, it } from "vitest";
import { withSafeIcons } from "../../../src/catalog/icons.ts";
import { createHost } from "../../../src/host.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";

const kept = (src: unknown): unknown => withSafeIcons({ name: "a", icons: [{ src }] })["icons"];

describe("icons", () => {
  it.each([
    "javascript:alert(1)",
    "JAVASCRIPT:alert(1)",
    " javascript:alert(1)",
    "file:///etc/passwd",
    "http://cdn.test/icon.png",
    "ftp://cdn.test/icon.png",
    "ws://cdn.test/icon.png",
    "data:text/html,<script>alert(1)</script>",
    "data:image/svg+xml,<svg onload=alert(1)/>",
    "//cdn.test/icon.png",
    "",
    7,
  ])("with an unsafe address are not passed on: %s (C-ICON-01)", (src) => {
    expect(kept(src)).toBeUndefined();
  });

  it.each([
    "https://cdn.test/icon.png",
    "data:image/png;base64,AAEC",
    "data:image/jpeg;base64,/9j/",
    "data:image/jpg;base64,/9j/",
    "data:image/webp;base64,UklG",
  ])("of the kinds that an interface has to show are passed on as they are: %s (C-ICON-02)", (src) => {
    const icon = { src, mimeType: "image/png", sizes: ["48x48", "any"], theme: "dark", more: { x: 1 } };
    const entry = { name: "a", icons: [icon] };
    expect(withSafeIcons(entry)).toBe(entry);
    expect(entry.icons).toEqual([icon]);
  });

  it("are bounded in number, and whatever is no list of them is none (C-ICON-03)", () => {
    const icons = Array.from({ length: 500 }, (_, at) => ({ src: `https://cdn.test/${at}.png` }));
    expect(withSafeIcons({ icons }).icons).toEqual(icons.slice(0, 20));
    for (const odd of ["https://cdn.test/a.png", 7, null, {}]) expect(withSafeIcons({ icons: odd })).toEqual({});
  });

  it("are never fetched by a host: whoever shows one gets its address, and the server that it came from (C-ICON-01, C-ICON-03)", async () => {
    const icons = [{ src: "https://elsewhere.test/icon.svg", mimeType: "image/svg+xml" }];
    const resource = { uri: "wiki://a", name: "a", icons };
    const runtime = fakeRuntime({
      wiki: {
        tools: [{ name: "run", inputSchema: { type: "object" }, icons }],
        capabilities: { resources: {}, prompts: {} },
        call: () => ({ content: [{ type: "resource_link", ...resource }] }),
        answer: (method) => {
          if (method === "resources/list") return { resources: [resource] };
          return method === "prompts/list" ? { prompts: [{ name: "p", icons }] } : undefined;
        },
      },
    });
    const fetched: string[] = [];
    const host = await createHost({
      runtime: { ...runtime, fetch: (input) => (fetched.push(input), Promise.reject(new TypeError("no network"))) },
      servers: [{ name: "wiki", command: "wiki" }],
      permission: { rules: [{ decision: "allow" }] },
    });
    await host.ready();
    const session = await host.session();
    expect(session.toolDefinitions()).toMatchObject([{ name: "mcp__wiki__run", icons }]);
    expect(await session.resources.list()).toMatchObject([{ server: "wiki", icons }]);
    expect(await session.prompts.list()).toMatchObject([{ server: "wiki", icons }]);
    expect((await session.tool("mcp.wiki.run", {})).content).toMatchObject([{ icons }]);
    expect(fetched).toEqual([]);
    await host.close();
  });
});
