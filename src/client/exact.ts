/**
 * Numbers beyond what a double holds, for a client alone. A host has them anyway.
 *
 * @module
 */
import { parseMessage } from "../jsonrpc/exact_numbers.ts";
import type { LargeFrames } from "../transport/frames.ts";

/**
 * Handed to a dialer as `frames`: in `content` and `structuredContent` of what calls result in, also as tasks, integers that
 * no double holds exactly come as bigint, of up to 4,096 digits. All others, and those with a fraction or an exponent, are
 * numbers as ever, and so is every number elsewhere. Costs nothing but a look at the text where a message has none of them.
 *
 * @example
 * ```ts
 * import { connectClient, httpDialer, systemClock } from "portcullis/client";
 * import { exactNumbers } from "portcullis/exact";
 *
 * export async function call(url: string): Promise<unknown> {
 *   const dialer = httpDialer({ url, fetch, frames: exactNumbers });
 *   await using client = await connectClient({ dialer });
 *   const reply = await client.callTool("next_id", {});
 *   return reply.kind === "done" ? reply.result["structuredContent"] : undefined; // { id: 9223372036854775807n }
 * }
 * ```
 */
export const exactNumbers: LargeFrames = Object.freeze({ parse: parseMessage });

export type { LargeFrames } from "../transport/frames.ts";
