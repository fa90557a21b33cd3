import { expect, test } from "vitest";
import { withMeta } from "../../../src/protocol/request_meta.ts";

test("metadata of a request keeps what its caller has put there", () => {
  expect(withMeta(undefined, undefined, { "a/b": 1 })).toEqual({ _meta: { "a/b": 1 } });
  expect(withMeta({ _meta: { "a/b": 2, c: 3 }, x: 1 }, undefined, { "a/b": 1 })).toEqual({
    _meta: { "a/b": 2, c: 3 },
    x: 1,
  });
});

test.each([5, [], null, "x"])(
  "metadata that is %j stays what it is, to be refused where it is written out",
  (_meta) => {
    const params = { _meta };
    expect(withMeta(params, undefined, { "a/b": 1 })).toBe(params);
  },
);
