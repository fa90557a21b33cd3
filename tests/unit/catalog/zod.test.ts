import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import type { LocalToolContext, LocalToolResult } from "../../../src/catalog/local_tool.ts";
import { createLocalTools } from "../../../src/catalog/local_tool.ts";
import { zodTool } from "../../../src/catalog/zod.ts";

const context: LocalToolContext = { signal: new AbortController().signal, toolCallId: "tc_1" };

const textOf = (result: LocalToolResult): string =>
  typeof result === "string" ? result : String(result.content[0]?.["text"]);

describe("zod tool", () => {
  const input = z.object({
    city: z.string().describe("Name of a place"),
    days: z.number().int().default(3),
    at: z.string().transform((text) => text.length).optional(),
  });
  const run = vi.fn(({ city, days }: z.output<typeof input>) => `${city} ${days}`);
  const tool = zodTool({ name: "forecast", title: "Forecast", description: "Foretells", risk: "read", input, run });

  it("shows a model what may be written, before defaults and transformations", () => {
    expect(tool.inputSchema).toMatchObject({
      type: "object",
      properties: {
        city: { type: "string", description: "Name of a place" },
        days: { type: "integer", default: 3 },
        at: { type: "string" },
      },
      required: ["city"],
    });
    expect(() => JSON.stringify(tool.inputSchema)).not.toThrow();
  });

  it("is a local tool that a host takes", () => {
    const { name, title, description, risk } = createLocalTools([tool]).get("forecast")!;
    expect({ name, title, description, risk }).toEqual({
      name: "forecast",
      title: "Forecast",
      description: "Foretells",
      risk: "read",
    });
  });

  it("runs with what the schema makes of the arguments", async () => {
    expect(await tool.run({ city: "Bergen" }, context)).toBe("Bergen 3");
    expect(run).toHaveBeenLastCalledWith({ city: "Bergen", days: 3 }, context);
  });

  it("answers wrong arguments with an error that a model can read, and does not run", async () => {
    run.mockClear();
    const result = await tool.run({ city: 7, days: "x" }, context);
    expect(result).toMatchObject({ isError: true, content: [{ type: "text" }] });
    expect(textOf(result)).toMatch(/^Invalid arguments for forecast:\n.*city.*days/s);
    expect(run).not.toHaveBeenCalled();
  });

  it("explanations of wrong arguments are bounded", async () => {
    const list = zodTool({ name: "l", risk: "read", input: z.object({ a: z.array(z.string()) }), run: () => "" });
    const result = await list.run({ a: Array(1000).fill(1) }, context);
    expect(textOf(result).length).toBeLessThan(2_100);
  });

  it("refuses a schema that JSON cannot carry", () => {
    expect(() => zodTool({ name: "when", risk: "read", input: z.object({ at: z.date() }), run: () => "" })).toThrow(
      'Cannot add local tool "when": its input has no JSON Schema, wanted types that JSON can carry',
    );
  });
});
