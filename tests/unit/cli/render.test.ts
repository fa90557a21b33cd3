import { describe, expect, it } from "vitest";
import { coloursFor } from "../../../src/cli/colours.ts";
import { eventLine } from "../../../src/cli/event_line.ts";
import { renderTable } from "../../../src/cli/table.ts";
import { event } from "./fakes.ts";

const colours = coloursFor(false, {});

describe("table", () => {
  it("columns are as wide as their widest cell", () => {
    expect(renderTable(["A", "LONG"], [["wide cell", "x"], ["", "y"]])).toBe(
      "A          LONG\nwide cell  x\n           y\n",
    );
  });

  it("the last column is cut to the width", () => {
    expect(renderTable(["A", "B"], [["name", "one two three four"]], { columns: 16 })).toBe(
      "A     B\nname  one two t…\n",
    );
  });

  it("a line below a row is indented and cut to the width", () => {
    expect(renderTable(["A", "B"], [["x", "y"], ["z", "w"]], { columns: 16, below: ["why it is as it is"] })).toBe(
      "A  B\nx  y\n    why it is a…\nz  w\n",
    );
  });

  it("colours do not count as width", () => {
    const paint = (cell: string) => `\x1b[31m${cell}\x1b[39m`;
    expect(renderTable(["A", "B"], [["xx", "y"]], { paint })).toBe("A   B\n\x1b[31mxx\x1b[39m  \x1b[31my\x1b[39m\n");
  });
});

describe("event line", () => {
  it.each([
    [
      event(1, "permission.requested", {
        requestId: "r",
        tool: "mcp.a.b",
        riskAtDecision: "network",
        by: "model",
        args: { secret: 1 },
        sourcedFrom: "rule",
      }),
      "10:53:20.001  session:s_1 1  permission.requested  mcp.a.b network by=model sourcedFrom=rule",
    ],
    [
      event(2, "permission.resolved", { decision: "deny", actor: "policy", sourcedFrom: "no_approver" }),
      "10:53:20.002  session:s_1 2  permission.resolved  deny actor=policy sourcedFrom=no_approver",
    ],
    [
      event(3, "tool.completed", { tool: "mcp.a.b", isError: false, durationMs: 12, resultPreview: "x" }),
      "10:53:20.003  session:s_1 3  tool.completed  mcp.a.b durationMs=12",
    ],
    [
      event(4, "mcp.server.crashed", { server: "a", reason: "exit", exitCode: 1, stderrTail: "boom\nat x" }),
      "10:53:20.004  session:s_1 4  mcp.server.crashed  a reason=exit exitCode=1 stderrTail=boom at x",
    ],
    [event(5, "session.opened", {}), "10:53:20.005  session:s_1 5  session.opened"],
    [
      event(6, "vendor.new", { level: "x", things: [1], someId: "y" }),
      "10:53:20.006  session:s_1 6  vendor.new  x",
    ],
  ])("event %# is one readable line", (shown, line) => {
    expect(eventLine(shown, { colours })).toBe(line);
  });

  it("nothing that a server wrote reaches the terminal raw", () => {
    const hostile = "\x1b[2J\x1b]0;x\x07\u202eabc\n\r\x9b1m";
    const line = eventLine(event(1, `x${hostile}`, { [`k${hostile}`]: hostile }, { stream: hostile }), { colours });
    // deno-lint-ignore no-control-regex
    expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
  });

  it("a line is cut to the width of the terminal", () => {
    const line = eventLine(event(1, "mcp.log", { server: "a", level: "info", data: "x".repeat(500) }), {
      colours,
      columns: 80,
    });
    expect(line.length).toBe(80);
    expect(line.endsWith("…")).toBe(true);
  });

  it("colours are for terminals without NO_COLOR", () => {
    const denied = event(2, "permission.resolved", { decision: "deny" });
    expect(eventLine(denied, { colours: coloursFor(true, {}) })).toContain("\x1b[31mpermission.resolved\x1b[39m");
    expect(eventLine(denied, { colours: coloursFor(true, { NO_COLOR: "1" }) })).not.toContain("\x1b");
    expect(eventLine(denied, { colours: coloursFor(true, { TERM: "dumb" }) })).not.toContain("\x1b");
  });
});
