import { connectClient, httpDialer, systemClock } from "../../src/client/mod.ts";
import { workerdRuntime } from "../../runtimes/workerd/mod.ts";
import { GOLDEN_URL, goldenChain } from "../contract/golden.ts";

/** `GET /golden?url=` answers with the event chain against that server; `GET /cycles?url=&count=` connects and closes. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const url = searchParams.get("url")!;
    const runtime = workerdRuntime();
    if (pathname === "/golden") {
      const named = {
        ...runtime,
        fetch: (input: string, init?: RequestInit) => fetch(input.replace(GOLDEN_URL, url), init),
      };
      return new Response(await goldenChain(named, { type: "http", url: GOLDEN_URL }));
    }
    const { fetch: plainFetch, contentLengthIsDecoded } = runtime;
    let answered = 0;
    for (let cycle = 0; cycle < Number(searchParams.get("count")); cycle++) {
      const client = await connectClient({
        dialer: httpDialer({ url, fetch: plainFetch, contentLengthIsDecoded, clock: systemClock }),
      });
      const reply = await client.callTool("echo", { message: "hi" });
      if (reply.kind === "done") answered++;
      await client.close();
    }
    return new Response(String(answered));
  },
};
