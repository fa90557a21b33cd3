import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { withMeta } from "../../../src/protocol/request_meta.ts";
import { readTrace, type TraceContext, traceContext } from "../../../src/protocol/trace.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("trace of a request (C-META-05)", () => {
  const rows: [member: keyof TraceContext, value: unknown, isFine: boolean][] = [
    ["traceparent", TRACEPARENT, true],
    ["traceparent", TRACEPARENT.replace("00-", "cc-"), true],
    ["traceparent", TRACEPARENT.toUpperCase(), false],
    ["traceparent", TRACEPARENT.replace("00-", "ff-"), false],
    ["traceparent", "00-00000000000000000000000000000000-b7ad6b7169203331-01", false],
    ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false],
    ["traceparent", `${TRACEPARENT}-x`, false],
    ["traceparent", `${TRACEPARENT}\n`, false],
    ["traceparent", "", false],
    ["traceparent", 5, false],
    ["tracestate", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true],
    ["tracestate", "tenant@vendor=a b, x = , ", false],
    ["tracestate", "1t@vendor=a b,, x=y ", true],
    ["tracestate", "", true],
    ["tracestate", "UPPER=1", false],
    ["tracestate", "a=b=c", false],
    ["tracestate", "a=é", false],
    ["tracestate", Array.from({ length: 33 }, (_, n) => `k${n}=v`).join(","), false],
    ["baggage", "userId=Am%C3%A9lie,serverNode=DF%2028,isProduction=false", true],
    ["baggage", "key1 = value1 ; property1 ; p2=5, key2=", true],
    ["baggage", "a", false],
    ["baggage", "", false],
    ["baggage", 'a="b"', false],
    ["baggage", "a=b;c d", false],
    ["baggage", "a=é", false],
    ["baggage", `a=${"b".repeat(8192)}`, false],
  ];
  test.each(rows)("%s %j goes out: %s", (member, value, isFine) => {
    const trace = { traceparent: TRACEPARENT, [member]: value } as TraceContext;
    const made = (): JsonObject | undefined => withMeta({ a: 1 }, traceContext(trace), {});
    if (isFine) expect(made()).toEqual({ a: 1, _meta: { ...trace } });
    else expect(made).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
    expect(readTrace({ traceparent: TRACEPARENT, other: 1, [member]: value })?.[member]).toBe(
      isFine ? value : undefined,
    );
  });

  test("whose parts are long is judged at once", () => {
    for (const member of ["a=b ", " ", "a=", "a@", ";", "a=b;c ", "\t"]) {
      for (const key of ["traceparent", "tracestate", "baggage"]) {
        readTrace({ traceparent: TRACEPARENT, [key]: member.repeat(100_000) });
      }
    }
  });

  test.each([undefined, null, 5, {}, { tracestate: "a=b" }, { traceparent: "x" }])("of %j is none", (meta) => {
    expect(readTrace(meta)).toBeUndefined();
  });
});
