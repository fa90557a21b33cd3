import type { JsonObject } from "./model.ts";
import { asObject } from "./results.ts";

/**
 * JSON text of a request whose `params._meta` gets `metaMembers`, a run of members already in JSON (`"a":1,"b":2`).
 * Splicing text saves building and writing the same metadata anew for every request. Throws when `params`, or a `_meta`
 * in it, is no JSON object.
 */
export function encodeRequest(id: number, method: string, params: JsonObject | undefined, metaMembers: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${withMeta(params, metaMembers)}}`;
}

/** JSON text of a notification; `metaMembers` may be empty. Throws like {@link encodeRequest}. */
export function encodeNotification(method: string, params: JsonObject | undefined, metaMembers: string): string {
  if (metaMembers === "" && params === undefined) return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`;
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${withMeta(params, metaMembers)}}`;
}

function withMeta(params: JsonObject | undefined, metaMembers: string): string {
  if (params === undefined) return `{"_meta":{${metaMembers}}}`;
  // What writes itself may write other members than it shows.
  if (typeof params["toJSON"] === "function") {
    return withMeta(JSON.parse(objectText(params)) as JsonObject, metaMembers);
  }
  const given = params["_meta"];
  if (given === undefined) {
    const text = objectText(params);
    if (metaMembers === "") return text;
    return text === "{}" ? `{"_meta":{${metaMembers}}}` : `${text.slice(0, -1)},"_meta":{${metaMembers}}}`;
  }
  if (asObject(given) === undefined) throw new TypeError("_meta is no object");
  // The caller's own metadata first: what the protocol rules about wins.
  const merged = { ...(given as JsonObject), ...(JSON.parse(`{${metaMembers}}`) as JsonObject) };
  return objectText({ ...params, _meta: merged });
}

/** Spliced text is only as sound as the text it goes into: anything but an object would come out as broken JSON. */
function objectText(value: unknown): string {
  const text: unknown = JSON.stringify(value);
  if (typeof text !== "string" || !text.startsWith("{")) throw new TypeError("parameters are no object");
  return text;
}
