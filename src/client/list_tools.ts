import type { Clock } from "../kernel/clock.ts";
import { readToolPage } from "../protocol/results.ts";
import type { Client, ListLimits, RequestOptions, ToolList } from "./client.ts";
import { listAllPages } from "./pages.ts";

/** All pages of `tools/list`, within the bounds of {@link listAllPages}. */
export async function listAllTools(
  client: Client,
  clock: Clock,
  options: RequestOptions & ListLimits,
): Promise<ToolList> {
  if (client.facts.capabilities.tools === undefined) return { tools: [], malformed: [] };
  const { maxTools, ...limits } = options;
  const { items, malformed, truncated } = await listAllPages(client, clock, "tools/list", (result) => {
    const page = readToolPage(result);
    return page && { items: page.tools, malformed: page.malformed, nextCursor: page.nextCursor };
  }, maxTools === undefined ? limits : { ...limits, maxItems: maxTools });
  const list = { tools: items, malformed };
  return truncated === undefined ? list : { ...list, truncated: truncated === "items" ? "tools" : truncated };
}
