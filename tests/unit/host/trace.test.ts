import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { json, scriptedFetch } from "../transport/scripted_fetch.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** Calls a tool under this source of traces; gives the metadata that its server got, and the faults that were told. */
async function traced(trace: HostOptions["trace"]): Promise<{ meta: JsonObject; errors: unknown[]; status: string }> {
  const errors: unknown[] = [];
  let meta: JsonObject = {};
  const { fetch } = scriptedFetch(({ body }) => {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: { _meta: JsonObject } };
    if (method === "tools/call") meta = params._meta;
    const result = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }] },
    }[method] ?? { content: [] };
    return json({ jsonrpc: "2.0", id, result });
  });
  const host = await createHost({
    runtime: { ...fakeRuntime({}), fetch },
    servers: [{ name: "s", url: "https://mcp.test/mcp" }],
    permission: { rules: [{ decision: "allow" }] },
    onError: (error) => void errors.push(error),
    ...(trace === undefined ? {} : { trace }),
  });
  await host.ready();
  const { status } = await (await host.session()).tool("mcp__s__t", {});
  await host.close();
  return { meta, errors, status };
}

describe("trace of a call (C-META-05)", () => {
  it("goes out in its metadata", async () => {
    const trace = { traceparent: TRACEPARENT, tracestate: "a=b", baggage: "k=v" };
    expect(await traced(() => trace)).toMatchObject({ meta: trace, errors: [], status: "completed" });
  });

  it("is asked for and left out where there is none", async () => {
    for (const trace of [undefined, () => undefined]) {
      const { meta, errors, status } = await traced(trace);
      expect([Object.keys(meta).filter((key) => /trace|baggage/.test(key)), errors, status]).toEqual([
        [],
        [],
        "completed",
      ]);
    }
  });

  it("that cannot be used fails no call: what of it can goes out, and the rest is told", async () => {
    const half = await traced(() => ({ traceparent: TRACEPARENT, tracestate: "A=\u00e9" }));
    expect(half).toMatchObject({ status: "completed", errors: [{ code: "ERR_INVALID_ARGUMENTS" }] });
    expect(half.meta["traceparent"]).toBe(TRACEPARENT);
    expect(half.meta).not.toHaveProperty("tracestate");
    const none = await traced(() => ({ traceparent: "x" }));
    expect(none).toMatchObject({ status: "completed", errors: [{ code: "ERR_INVALID_ARGUMENTS" }] });
    expect(none.meta).not.toHaveProperty("traceparent");
    const thrown = await traced(() => {
      throw new Error("no tracer");
    });
    expect(thrown).toMatchObject({ status: "completed", errors: [{ message: "no tracer" }] });
  });
});
