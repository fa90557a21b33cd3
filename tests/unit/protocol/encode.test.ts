import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeNotification, encodeRequest } from "../../../src/protocol/encode.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";

const META = '"progressToken":7,"io.x/version":"v"';
const meta = { progressToken: 7, "io.x/version": "v" };
const request = (params: unknown, members = META): unknown =>
  JSON.parse(encodeRequest(7, "m", params as JsonObject, members)).params;
const notification = (params: unknown, members = ""): unknown =>
  JSON.parse(encodeNotification("n", params as JsonObject, members)).params;

describe("request", () => {
  test("is one line of JSON-RPC, whatever its method (C-RPC-01, C-RPC-10, C-STDIO-01)", () => {
    for (const method of ["tools/call", 'a"b\n', "\u2028", ""]) {
      const text = encodeRequest(7, method, undefined, META);
      expect(text).not.toMatch(/[\n\r]/);
      expect(JSON.parse(text)).toEqual({ jsonrpc: "2.0", id: 7, method, params: { _meta: meta } });
    }
  });

  const rows: [claim: string, params: unknown, found: unknown][] = [
    ["no parameters", undefined, { _meta: meta }],
    ["empty parameters", {}, { _meta: meta }],
    ["parameters that are all undefined", { a: undefined }, { _meta: meta }],
    ["parameters", { a: 1, b: [{}] }, { a: 1, b: [{}], _meta: meta }],
    ["undefined members, which are left out (FR-52)", { a: { b: undefined, c: null } }, {
      a: { c: null },
      _meta: meta,
    }],
    ["metadata of the caller", { a: 1, _meta: { mine: 1 } }, { a: 1, _meta: { mine: 1, ...meta } }],
    ["empty metadata", { _meta: {} }, { _meta: meta }],
    ["metadata that is undefined", { _meta: undefined, a: 1 }, { _meta: meta, a: 1 }],
    ["metadata that claims what the protocol rules", { _meta: { progressToken: 1, "io.x/version": "evil", k: 2 } }, {
      _meta: { k: 2, ...meta },
    }],
    ["a value that looks like the end", { a: '"}}' }, { a: '"}}', _meta: meta }],
    ["a member named like the method of JSON.stringify", { a: { toJSON: "x" } }, { a: { toJSON: "x" }, _meta: meta }],
    ["a date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z", _meta: meta }],
    ["a whole that writes itself", { toJSON: () => ({ a: 1, _meta: { mine: 1 } }) }, {
      a: 1,
      _meta: { mine: 1, ...meta },
    }],
  ];
  test.each(rows)("with %s", (_claim, params, found) => {
    expect(request(params)).toEqual(found);
  });

  const refused: [claim: string, params: unknown][] = [
    ["an array", [1, 2]],
    ["an empty array", []],
    ["a text", "x"],
    ["null", null],
    ["a number", 5],
    ["a function", () => {}],
    ["a whole that writes itself as a text", { toJSON: () => "x" }],
    ["a whole that writes itself as an array", { toJSON: () => [1] }],
    ["a whole that writes itself as nothing", { toJSON: () => undefined }],
    ["metadata that is a text", { _meta: "abc" }],
    ["metadata that is an array", { _meta: ["a"] }],
    ["metadata that is null", { _meta: null }],
    ["a big integer", { a: 1n }],
    ["a member that throws", {
      get a(): never {
        throw new Error("x");
      },
    }],
  ];
  test.each(refused)("with %s is refused: nothing broken goes out (FR-52)", (_claim, params) => {
    expect(() => encodeRequest(7, "m", params as JsonObject, META)).toThrow();
    expect(() => encodeNotification("n", params as JsonObject, "")).toThrow();
    expect(() => encodeNotification("n", params as JsonObject, META)).toThrow();
  });

  test("changes nothing of what it is given", () => {
    const params = Object.freeze({ a: 1, _meta: Object.freeze({ mine: 1 }) });
    request(params);
    expect(params).toEqual({ a: 1, _meta: { mine: 1 } });
  });

  test("keeps a prototype key as the data it is, and pollutes nothing (A-30)", () => {
    const params = JSON.parse(
      '{"a":{"__proto__":{"polluted":1}},"_meta":{"__proto__":{"polluted":1},"k":1}}',
    ) as JsonObject;
    const text = encodeRequest(7, "m", params, META);
    expect(text).toContain('"a":{"__proto__":{"polluted":1}}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("gives any parameters back intact, with its metadata beside them", () => {
    const params = fc.dictionary(fc.string(), fc.jsonValue()).filter((each) =>
      !("_meta" in each) && !("__proto__" in each)
    );
    fc.assert(fc.property(params, (each) => {
      expect(request(each)).toEqual({ ...JSON.parse(JSON.stringify(each)), _meta: meta });
    }));
  });
});

describe("notification", () => {
  test("has parameters only where there are any", () => {
    expect(encodeNotification("n", undefined, "")).toBe('{"jsonrpc":"2.0","method":"n"}');
    expect(notification({})).toEqual({});
    expect(notification({ a: 1, _meta: { b: 1 } })).toEqual({ a: 1, _meta: { b: 1 } });
    expect(notification(undefined, META)).toEqual({ _meta: meta });
    expect(notification({ _meta: { b: 1 } }, META)).toEqual({ _meta: { b: 1, ...meta } });
  });
});
