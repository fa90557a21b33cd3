import { describe, expect, it } from "vitest";
import { expandTemplate, templateVariables } from "../../../src/client/templates.ts";

describe("template", () => {
  it.each([
    ["file:///docs/café/{name}", { name: "a b.txt" }, "file:///docs/caf%C3%A9/a%20b.txt"],
    ["file:///{name}", { name: "100%.txt" }, "file:///100%25.txt"],
    ["file:///{name}", { name: "a%20b" }, "file:///a%2520b"],
    ["file:///{name}", { name: "a/b?q#x" }, "file:///a%2Fb%3Fq%23x"],
    ["file:///{+path}", { path: "a/b c" }, "file:///a/b%20c"],
    ["x:y{?q,limit}", { q: "" }, "x:y?q="],
    ["x:y{?q,limit}", { q: "é", limit: 5 }, "x:y?q=%C3%A9&limit=5"],
    ["x:y{?q,limit}", {}, "x:y"],
    ["FILE:///{a}{/b*}", { a: "1", b: ["2", "3"] }, "FILE:///1/2/3"],
    ["x:{name:3}", { name: "abcdef" }, "x:abc"],
    ["x:{__proto__}{toString}", {}, "x:"],
  ])("%s is expanded once, as RFC 6570 has it (FR-58)", (template, values, uri) => {
    expect(expandTemplate(template, values)).toBe(uri);
  });

  it("names its variables, each once", () => {
    expect(templateVariables("a:{x}/{+y}{?x,z*}{w:3}")).toEqual(["x", "y", "z", "w"]);
    expect(templateVariables("a:b")).toEqual([]);
  });

  it.each(["a:{", "a:}", "a:{{x}}", "a:{}", "a:{x,}", `a:${"x".repeat(8192)}`])("refuses %.12s", (template) => {
    expect(() => templateVariables(template)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
  });

  it("refuses a variable that it has not, and half a character", () => {
    for (const values of [{ y: "1" }, { x: "\ud800" }]) {
      expect(() => expandTemplate("a:{x}", values)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
    }
  });
});
