import { describe, expect, it } from "vitest";
import type { CliSession } from "../../../src/cli/host_port.ts";
import { parsePairs } from "../../../src/cli/offers.ts";
import { run } from "./fakes.ts";

const files = { "mcp.config.json": `{ "mcpServers": {} }` };
const error = (reason: string): object => ({ code: "X", message: "why", reason });

describe("resources", () => {
  it("are shown by server, families among them, and nothing in them moves the cursor", async () => {
    const { code, out } = await run(["resources"], { files }, {
      resources: {
        list: () => Promise.resolve([{ server: "wiki", uri: "wiki://a", name: "A\u001b[2J\nB" }]),
        templates: () => Promise.resolve([{ server: "wiki", uriTemplate: "wiki://{page}", name: "page" }]),
      },
    });
    expect(code).toBe(0);
    expect(out).toBe("SERVER  URI            NAME\nwiki    wiki://a       A B\nwiki    wiki://{page}  page\n");
    expect((await run(["resources"], { files })).out).toBe("No server offers a resource.\n");
    expect(JSON.parse((await run(["resources", "--json"], { files })).out)).toEqual({ resources: [], templates: [] });
  });
});

describe("read", () => {
  const outcome = { status: "completed", output: "text\u001b[31m", durationMs: 1 } as const;

  it("prints what is in it, and hands on which server is meant", async () => {
    const asked: unknown[][] = [];
    const include: CliSession["resources"]["include"] = (uri, { server, onAsk }) => {
      asked.push([uri, server, onAsk]);
      return Promise.resolve(outcome);
    };
    expect(await run(["read", "a:b", "--server", "wiki"], { files }, { resources: { include } })).toMatchObject({
      code: 0,
      out: "text\n",
    });
    expect(asked).toEqual([["a:b", "wiki", "deny"]]);
    const { out } = await run(["read", "a:b", "--json"], { files }, { resources: { include } });
    expect(JSON.parse(out)).toEqual(outcome);
  });

  it.each([
    ["denied", "permission_denied", 3],
    ["failed", "not_found", 2],
    ["failed", "remote_error", 1],
    ["failed", "mcp_server_not_connected", 4],
    ["cancelled", "cancelled", 1],
  ])("that ends as %s for %s ends with %d", async (status, reason, code) => {
    const include = () => Promise.resolve({ ...outcome, status, error: error(reason) } as never);
    const ended = await run(["read", "a:b"], { files }, { resources: { include } });
    expect(ended).toMatchObject({ code, out: "" });
    expect(ended.err).toContain(status === "cancelled" ? "error: cancelled" : `error: ${status} (${reason}): why`);
  });
});

describe("prompt", () => {
  it("shows who says what", async () => {
    const asked: unknown[][] = [];
    const invoke: CliSession["prompts"]["invoke"] = (name, args, { typed }) => {
      asked.push([name, args, typed]);
      return Promise.resolve({
        status: "completed",
        durationMs: 1,
        messages: [
          { role: "user", content: { type: "text", text: "Look\u001b[2J" } },
          { role: "assistant", content: { type: "image", data: "AA" } },
        ],
      });
    };
    const { code, out } = await run(["prompt", "review", "pr=4=5", "note="], { files }, { prompts: { invoke } });
    expect([code, out]).toEqual([0, "user: Look\nassistant: [image]\n"]);
    expect(asked).toEqual([["review", { pr: "4=5", note: "" }, "/prompt review pr=4=5 note="]]);
  });

  it("without a name lists what there is to fill in", async () => {
    const list = () =>
      Promise.resolve([{ qualified: "mcp.a.review", arguments: [{ name: "pr", required: true }, { name: "x" }] }]);
    const { code, out } = await run(["prompt"], { files }, { prompts: { list } });
    expect([code, out]).toEqual([0, "PROMPT        ARGUMENTS  DESCRIPTION\nmcp.a.review  pr= [x=]\n"]);
  });

  it.each([["pr"], ["=4"], ["pr=1 pr=2"]])("refuses the words %s", async (words) => {
    expect(() => parsePairs(words.split(" "))).toThrow("Cannot read the arguments");
    expect((await run(["prompt", "review", ...words.split(" ")], { files })).code).toBe(2);
  });
});
