import { logLevelGoesWith } from "../protocol/offers.ts";
import type { LogLevel } from "../protocol/request_meta.ts";
import type { RequestOptions } from "./client.ts";
import type { Requester } from "./pages.ts";
import { resultOf } from "./resources.ts";

/**
 * Asks a server for its log messages from `level` up; they come as `notifications/message`. Where the server keeps that
 * for the connection it is told here; elsewhere each request has to say it: what is returned belongs into the options of
 * every request whose messages are wanted, and changes nothing where it is not needed. Nothing is asked of a server that
 * does not declare that it logs. Rejects with what the request failed with.
 */
export async function askForLogs(
  client: Requester,
  level: LogLevel,
  options: RequestOptions = {},
): Promise<Pick<RequestOptions, "logLevel">> {
  const { capabilities, protocolVersion } = client.facts;
  if (logLevelGoesWith(protocolVersion) === "connection" && capabilities.logging !== undefined) {
    resultOf(await client.request("logging/setLevel", { level }, options), "logging/setLevel");
  }
  return { logLevel: level };
}
