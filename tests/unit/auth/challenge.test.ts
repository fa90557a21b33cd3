import { describe, expect, test } from "vitest";
import { readChallenge } from "../../../src/auth/oauth/challenge.ts";

const none = { error: undefined, scope: undefined, resourceMetadata: undefined };

describe("challenge of a refusal", () => {
  const rows: [claim: string, header: string | undefined, found: unknown][] = [
    ["a bare scheme", "Bearer", { ...none, scheme: "bearer" }],
    ["a scheme in any case (C-AUTH-02)", 'BEARER scope="a b"', { ...none, scheme: "bearer", scope: "a b" }],
    ["DPoP", 'DPoP algs="ES256", error="use_dpop_nonce"', { ...none, scheme: "dpop", error: "use_dpop_nonce" }],
    [
      "the one that a token answers among several",
      'Basic realm="x", Bearer error="invalid_token", scope="read"',
      { ...none, scheme: "bearer", error: "invalid_token", scope: "read" },
    ],
    [
      "commas and quotes within quotes",
      'Bearer realm="a, Basic \\"b\\"", scope="x"',
      { ...none, scheme: "bearer", scope: "x" },
    ],
    ["the first of two that tokens answer", 'Bearer scope="one", DPoP scope="two"', {
      ...none,
      scheme: "bearer",
      scope: "one",
    }],
    [
      "the place of the metadata",
      'Bearer resource_metadata="https://mcp.example/m?a=1,2"',
      { ...none, scheme: "bearer", resourceMetadata: "https://mcp.example/m?a=1,2" },
    ],
    ["nothing without a header", undefined, undefined],
    ["nothing in an empty one", "", undefined],
    ["nothing among schemes of others", 'Basic realm="x", Negotiate', undefined],
    ["nothing in garbage", '"=,,,=" %%%', undefined],
    ["nothing in what no header may hold", "Bearer\nscope", undefined],
  ];
  test.each(rows)("finds %s", async (_claim, header, found) => {
    expect(await readChallenge(header)).toEqual(found);
  });
});
