import type { Clock } from "../kernel/clock.ts";
import { HostError, isRemoteError } from "../kernel/errors.ts";
import type { Tool } from "../protocol/model.ts";
import { readToolPage } from "../protocol/results.ts";
import type { Client, ListLimits, RequestOptions, ToolList } from "./client.ts";

const METHOD_NOT_FOUND = -32601;
const MAX_CURSOR_LENGTH = 64 << 10;

/** All pages of `tools/list`: bounded in tools, pages and total time, and proof against a cursor that comes again. */
export async function listAllTools(
  client: Client,
  clock: Clock,
  options: RequestOptions & ListLimits,
): Promise<ToolList> {
  if (client.facts.capabilities.tools === undefined) return { tools: [], malformed: [] };
  const { maxTools = 1000, maxPages = 100, maxTotalMs = 600_000 } = options;
  const deadline = clock.monotonic() + maxTotalMs;
  const tools: Tool[] = [];
  const malformed: ToolList["malformed"][number][] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const remaining = deadline - clock.monotonic();
    const reply = await client.request("tools/list", cursor === undefined ? undefined : { cursor }, {
      ...options,
      maxTotalMs: remaining,
    });
    if (reply.kind === "failed") {
      if (isRemoteError(reply.error) && reply.error.code === METHOD_NOT_FOUND && page === 0) {
        return { tools, malformed };
      }
      throw reply.error;
    }
    const read = reply.kind === "done" ? readToolPage(reply.result) : undefined;
    if (read === undefined) {
      throw new HostError("ERR_PROTOCOL", "Cannot use the answer to tools/list: found no list of tools in it");
    }
    for (const tool of read.tools) {
      if (tools.length >= maxTools) return { tools, malformed, truncated: "tools" };
      tools.push(tool);
    }
    if (malformed.length < maxTools) malformed.push(...read.malformed.slice(0, maxTools - malformed.length));
    cursor = read.nextCursor;
    if (cursor === undefined) return { tools, malformed };
    if (cursor.length > MAX_CURSOR_LENGTH) {
      const found = `its cursor has ${cursor.length} characters, at most ${MAX_CURSOR_LENGTH} allowed`;
      throw new HostError("ERR_TOO_LARGE", `Cannot go on with tools/list: ${found}`);
    }
    if (seen.has(cursor)) return { tools, malformed, truncated: "repeated_cursor" };
    seen.add(cursor);
  }
  return { tools, malformed, truncated: "pages" };
}
