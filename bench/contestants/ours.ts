/** `portcullis/client` over the adapter of the runtime that the benchmark runs in. */
import { connectClient } from "../../src/client/connect.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { httpDialer } from "../../src/transport/http.ts";
import { stdioDialer } from "../../src/transport/stdio.ts";
import { type Caller, CLIENT_INFO, LEGACY_VERSION, MODERN_VERSION, type Target } from "../contestant.ts";
import { runtimeHere } from "../runtime_here.ts";

export async function open({ transport, era, script, url }: Target): Promise<Caller> {
  const runtime = await runtimeHere();
  const dialer = transport === "stdio"
    ? stdioDialer({
      spawn: runtime.spawn!,
      command: "node",
      args: [script],
      env: runtime.environment(),
      clock: systemClock,
    })
    : httpDialer({
      url,
      fetch: runtime.fetch,
      contentLengthIsDecoded: runtime.contentLengthIsDecoded,
      clock: systemClock,
    });
  const pin = era === "modern" ? MODERN_VERSION : LEGACY_VERSION;
  const client = await connectClient({ dialer, clientInfo: CLIENT_INFO, pin });
  return {
    async call(message) {
      const reply = await client.callTool("echo", { message });
      if (reply.kind !== "done") throw new Error(`Call ended as ${reply.kind}`, { cause: reply });
      return (reply.result as { content: { text: string }[] }).content[0]?.text;
    },
    close: () => client.close(),
  };
}
