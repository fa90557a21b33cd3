import type { Spill } from "../jsonrpc/spill_sink.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { Finding } from "./outcome.ts";

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const MAX_TOLD = 5;

/**
 * Blocks of a result whose binary data is none: whoever decodes it gets nothing, or something else. Data that was put
 * aside for its length is not looked at.
 */
export function base64Finding(result: JsonObject, spills: readonly Spill[] = []): Finding | undefined {
  const { content } = result as { content?: unknown };
  if (!Array.isArray(content)) return undefined;
  const places: string[] = [];
  for (const [at, block] of content.entries()) {
    const place = wrongPlace((block ?? {}) as Readonly<Record<string, unknown>>);
    if (place === undefined || spills.some(({ pointer }) => pointer === `/result/content/${at}/${place}`)) continue;
    places.push(`/${at}/${place}`);
  }
  if (places.length === 0) return undefined;
  const preview = places.slice(0, MAX_TOLD).join(" ");
  return { rule: "invalid_base64", where: "content", severity: "low", count: places.length, preview };
}

function wrongPlace({ type, data, resource }: Readonly<Record<string, unknown>>): string | undefined {
  if (type === "image" || type === "audio") return isBase64(data) ? undefined : "data";
  if (type !== "resource" || typeof resource !== "object" || resource === null || !("blob" in resource)) {
    return undefined;
  }
  return isBase64(resource.blob) ? undefined : "resource/blob";
}

/** White space between is what mail readers write, and every decoder skips it. */
function isBase64(data: unknown): boolean {
  if (typeof data !== "string") return false;
  const bare = /\s/.test(data) ? data.replaceAll(/\s/g, "") : data;
  return bare.length % 4 === 0 && BASE64.test(bare);
}
