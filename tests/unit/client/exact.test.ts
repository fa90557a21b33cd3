import { describe, expect, test } from "vitest";
import { connectClient } from "../../../src/client/connect.ts";
import { exactNumbers, type LargeFrames } from "../../../src/client/exact.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { stdioDialer } from "../../../src/transport/stdio.ts";
import type { Dialer } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { scriptedFetch } from "../transport/scripted_fetch.ts";

const LONG = "9223372036854775807";

/** The JSON text of an answer. */
function answer(line: string): string {
  const { id, method } = JSON.parse(line) as { id: number; method: string };
  const results: Record<string, string> = {
    "server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
    "tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object","maximum":${LONG}}}]}`,
    "tools/call":
      `{"content":[],"structuredContent":{"id":${LONG},"low":-9007199254740993,"list":[1,1.5,1e25,"${LONG}"]}}`,
  };
  return `{"jsonrpc":"2.0","id":${id},"result":${results[method]}}`;
}

const clock = new FakeClock();

function web(type: string): (frames: LargeFrames | undefined) => Dialer {
  return (frames) => {
    const { fetch } = scriptedFetch(({ body }) => {
      const text = answer(body);
      const whole = type === "application/json" ? text : `data: ${text}\n\n`;
      return new Response(whole, { headers: { "content-type": type } });
    });
    return httpDialer({ url: "https://mcp.test/mcp", fetch, clock, frames });
  };
}

function pipe(frames: LargeFrames | undefined): Dialer {
  return stdioDialer({
    command: "server",
    clock,
    frames,
    spawn: (_plan, { onData }) =>
      Promise.resolve({
        pid: 7,
        containment: "process_group",
        write: (text) =>
          queueMicrotask(() => {
            for (const line of text.trimEnd().split("\n")) void onData(new TextEncoder().encode(`${answer(line)}\n`));
          }),
        closeInput() {},
        kill() {},
        groupAlive: () => false,
        release() {},
      }),
  });
}

describe.each([
  ["a JSON body", web("application/json")],
  ["an event", web("text/event-stream")],
  ["a pipe", pipe],
])("numbers beyond what a double holds, over %s", (_name, dial) => {
  const structured = async (frames: LargeFrames | undefined): Promise<unknown> => {
    const client = await connectClient({ dialer: dial(frames), clock });
    const reply = await client.callTool("t", {});
    return reply.kind === "done" ? reply.result["structuredContent"] : reply;
  };

  test("are bigint in results of calls where they are asked for", async () => {
    const list = [1, 1.5, 1e25, LONG];
    expect(await structured(exactNumbers)).toEqual({ id: 9223372036854775807n, low: -9007199254740993n, list });
    expect(await structured(undefined)).toEqual({ id: 2 ** 63, low: -9007199254740992, list });
  });

  test("are doubles in definitions all the same", async () => {
    const client = await connectClient({ dialer: dial(exactNumbers), clock });
    const { tools } = await client.listTools();
    expect(tools[0]!.inputSchema).toEqual({ type: "object", maximum: 2 ** 63 });
  });
});
