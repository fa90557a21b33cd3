import type { ConnectOptions } from "../../../src/client/client.ts";
import type { Client } from "../../../src/client/client.ts";
import { connectClient } from "../../../src/client/connect.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { type Fetched, json, scriptedFetch } from "../transport/scripted_fetch.ts";

/** One message that came over HTTP. */
export interface Heard {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject & {
    readonly name?: string;
    readonly arguments?: JsonObject;
    readonly _meta?: JsonObject;
  };
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** What a server answers to a method: the members of a response, or a whole HTTP response. */
export type WebAct = (heard: Heard) => object | Response | Promise<Response>;

export interface WebScene {
  readonly client: Client;
  readonly clock: FakeClock;
  /** All but the first contact. */
  readonly heard: Heard[];
}

/** A client of a server of 2026-07-28 that answers over HTTP by a script. */
export async function webClient(
  script: Readonly<Record<string, WebAct>>,
  options: Partial<ConnectOptions> = {},
  capabilities: JsonObject = { tools: { listChanged: true } },
): Promise<WebScene> {
  const clock = new FakeClock();
  const heard: Heard[] = [];
  const { fetch } = scriptedFetch((request: Fetched) => {
    const { id, method, params } = JSON.parse(request.body) as Heard;
    if (method === "server/discover") {
      const result = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities, ttlMs: 0 };
      return json({ jsonrpc: "2.0", id, result });
    }
    const message = { id, method, params, headers: request.headers, signal: request.signal };
    heard.push(message);
    const reply = script[method]?.(message) ?? { error: { code: -32601, message: "no" } };
    return reply instanceof Response || reply instanceof Promise ? reply : json({ jsonrpc: "2.0", id, ...reply });
  });
  const dialer = httpDialer({ url: "https://mcp.test/mcp", fetch, clock });
  return { client: await connectClient({ dialer, clock, ...options }), clock, heard };
}

/** Only the headers that repeat arguments. */
export function mirrored({ headers }: Heard): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("mcp-param-")));
}
